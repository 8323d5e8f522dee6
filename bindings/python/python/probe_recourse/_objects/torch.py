"""PyTorch: `nn.Sequential` of linear layers with one activation between them, as it predicts
(`eval`).

Two affine maps in a row are one, so that batch normalisation ends up in the layer before or after
it.
"""

from ..errors import UnsupportedError
from ._document import named, network, numbers, plain

PASSED = ("Identity", "Dropout", "AlphaDropout", "FeatureAlphaDropout")
LAST = ("Sigmoid", "Softmax", "LogSoftmax")
HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def document(model: object, features: "list[str] | None" = None) -> bytes:
    """The network as a document; its margin is the last layer before a sigmoid or softmax."""
    import torch

    modules = flat(model)
    # What is last decides what the margin is: nothing that passes values on may hide it.
    while modules and (
        type(modules[-1]).__name__ in PASSED
        or (type(modules[-1]).__name__ == "Flatten" and modules[-1].start_dim == 1)
    ):
        modules = modules[:-1]
    if not modules:
        raise UnsupportedError("an empty Sequential", "it has no layers")
    last = modules[-1] if type(modules[-1]).__name__ in LAST else None
    if last is not None:
        modules = modules[:-1]
    layers, activation = follow(torch, modules)
    check_outputs(last, layers[-1][1].numel())
    n = layers[0][0].shape[1]
    listed = [
        (rows(weight, i), numbers(bias, f"bias of layer {i}"))
        for i, (weight, bias) in enumerate(layers)
    ]
    return plain(
        f"PyTorch {torch.__version__} {type(model).__name__}",
        named(features, None, n),
        network(listed, activation),
    )


def rows(weight, i):
    return [numbers(row, f"weight of layer {i}") for row in weight]


def check_outputs(last, n):
    """Fails unless the last layer is a margin, or logits of two classes."""
    kind = None if last is None else type(last).__name__
    if kind == "Sigmoid" and n != 1:
        raise UnsupportedError(
            f"Sigmoid of {n} outputs", "a network of one output, or two under a softmax, is read"
        )
    if kind in ("Softmax", "LogSoftmax"):
        if n != 2:
            raise UnsupportedError(f"{kind} over {n} outputs", "models of two classes are read")
        if last.dim not in (1, -1):
            raise UnsupportedError(f"{kind}(dim={last.dim})", "it must be over the columns: dim=1")
    if n not in (1, 2):
        raise UnsupportedError(f"a network of {n} outputs", "one output, or two logits, are read")


def flat(module):
    """The modules of a Sequential in order, those of Sequentials inside it included."""
    import torch

    kind = type(module)
    if "forward" in vars(module) or any(getattr(module, hooks, None) for hooks in HOOKS):
        raise UnsupportedError(
            f"{kind.__name__} with hooks or a forward of its own",
            "they may change what it computes",
        )
    if isinstance(module, torch.nn.Sequential) and kind.forward is torch.nn.Sequential.forward:
        return [inner for child in module for inner in flat(child)]
    if kind.__module__.startswith("torch.nn.modules"):
        return [module]
    inside = [
        name for name, child in module.named_children() if isinstance(child, torch.nn.Sequential)
    ]
    hint = f"; if it only calls its Sequential, pass model.{inside[0]}" if len(inside) == 1 else ""
    raise UnsupportedError(
        f"module {kind.__name__}",
        f"what its own forward does is not known; nn.Sequential is read{hint}",
    )


def follow(torch, modules):
    """Layers as pairs of weights and biases in double precision, and their activation."""
    layers, activation, pending = [], None, None
    for module in modules:
        kind = type(module).__name__
        check_numbers(torch, module)
        if kind == "Linear":
            weight, bias = double(module.weight), offset(torch, module.bias, module.out_features)
            pending = (
                (weight, bias)
                if pending is None
                else (weight @ pending[0], weight @ pending[1] + bias)
            )
        elif kind == "BatchNorm1d":
            factor, shift = normalisation(torch, module)
            if pending is None:
                pending = (
                    torch.eye(len(factor), dtype=torch.float64),
                    torch.zeros(len(factor), dtype=torch.float64),
                )
            pending = (factor[:, None] * pending[0], factor * pending[1] + shift)
        elif kind in PASSED:
            continue
        elif kind == "Flatten":
            if module.start_dim != 1 or module.end_dim not in (1, -1):
                raise UnsupportedError(
                    f"Flatten({module.start_dim}, {module.end_dim})", "rows must stay rows"
                )
        else:
            name = activation_of(module)
            if activation not in (None, name):
                raise UnsupportedError(
                    f"a network with both {activation} and {name}",
                    "networks with one activation are read",
                )
            if pending is None:
                raise UnsupportedError(
                    f"{kind} without a layer before it", "an activation follows a layer"
                )
            activation = name
            layers.append(pending)
            n = len(pending[1])
            pending = (torch.eye(n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64))
    if pending is None:
        raise UnsupportedError("a network without layers", "there is no Linear in it")
    return [*layers, pending], activation


def check_numbers(torch, module):
    for name, value in [
        *module.named_parameters(recurse=False),
        *module.named_buffers(recurse=False),
    ]:
        if value.is_floating_point() and value.dtype not in (torch.float32, torch.float64):
            raise UnsupportedError(
                f"{type(module).__name__}.{name} of {value.dtype}", "float32 and float64 are read"
            )


def double(tensor):
    import torch

    return tensor.detach().to("cpu", torch.float64)


def offset(torch, bias, n):
    return torch.zeros(n, dtype=torch.float64) if bias is None else double(bias)


def normalisation(torch, module):
    """Factor and shift of a batch normalisation as it predicts."""
    if module.running_mean is None or module.running_var is None:
        raise UnsupportedError(
            "BatchNorm1d(track_running_stats=False)", "it depends on the other rows of a batch"
        )
    factor = 1.0 / torch.sqrt(double(module.running_var) + module.eps)
    if module.weight is not None:
        factor = factor * double(module.weight)
    shift = offset(torch, module.bias, module.num_features)
    return factor, shift - factor * double(module.running_mean)


def activation_of(module):
    """An activation as the engine names it."""
    kind = type(module).__name__
    if kind in ("ReLU", "Tanh", "Sigmoid", "SiLU"):
        return kind.lower()
    if kind == "GELU":
        if module.approximate != "none":
            raise UnsupportedError(
                f"GELU(approximate={module.approximate!r})",
                "only the exact one, with the error function, is read",
            )
        return "gelu"
    if kind == "Softplus":
        if (module.beta, module.threshold) != (1, 20):
            raise UnsupportedError(
                f"Softplus(beta={module.beta}, threshold={module.threshold})",
                "beta 1 and threshold 20 are read",
            )
        return "softplus"
    if kind == "LeakyReLU":
        if module.negative_slope != 0.01:
            raise UnsupportedError(
                f"LeakyReLU(negative_slope={module.negative_slope})", "a slope of 0.01 is read"
            )
        return "leaky_relu"
    raise UnsupportedError(f"torch.nn.{kind}", "it is none of the modules that are read")
