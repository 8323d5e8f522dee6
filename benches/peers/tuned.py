"""A tuned, batched PyTorch search for robust recourse: everybody at once, float32, one thread.

1. Closed-form margin m(x) = f(x) / (sigma * |grad f(x)|), whose gradient is grad f / (sigma * |grad
   f|) almost everywhere on a relu network: two matrix products, no autograd.
2. Adam with a soft threshold (proximal l1) on the hinge of z_r - m, with two penalties at a time,
   each a share of the largest gradient entry, so that one or a few features move. The cheapest
   iterate with m >= z_r is kept.
3. The change is stretched or shrunk until the rate on 4,096 Sobol samples is r. Plainly: by one
   bisection for everybody at once, to a thousandth of the change. With --secants: by safeguarded
   secant steps on the probit of the rate, which is nearly linear, the first on 1,024 samples, for
   those who are not there yet.
4. Whoever has no answer yet is searched again for a larger margin.

Settings were tuned on Adult, COMPAS and Give Me Some Credit at r = 0.35 and 0.05: 80 steps from
0.08 with decay 0.95, penalties 0.8 and 0.5. Six penalties with 1,000 steps and three rounds cost 30
times the time and save 0.1 to 2.7 % of the cost.

A linear model is taken for a network of two units.
"""

import argparse

import torch
from common import Linear, Network, Timer, load_model, load_people, upper_quantile, write_result

PENALTIES = (0.8, 0.5)
STEPS, STEP, DECAY = 80, 0.08, 0.95
BETAS = (0.5, 0.9)
SAMPLES = 4096
# Units of all people whose samples are scored in one piece: what stays in the cache.
PIECE = 100
ROUNDS = 12


def margin(net, x, sigma):
    """The closed-form margin and its gradient."""
    z = torch.addmm(net.b, x, net.w.T)
    f = torch.addmv(net.c, z.clamp_min(0), net.v)
    g = torch.mm((z > 0) * net.v, net.w)
    scale = g.norm(dim=1).clamp_min_(1e-12).mul_(sigma)
    return f / scale, g / scale[:, None]


def search(net, people, sigma, target, penalties, steps, step):
    """For each person the cheapest iterate whose margin is at least its target, and its cost
    (infinite where there is none).
    """
    n, k = len(people), len(penalties)
    origin, target = people.repeat(k, 1), target.repeat(k)
    share = torch.tensor(penalties, dtype=people.dtype).repeat_interleave(n)[:, None]
    x, best_x = origin.clone(), origin.clone()
    best = torch.full((n * k,), torch.inf, dtype=people.dtype)
    mean, square = torch.zeros_like(x), torch.zeros_like(x)
    for t in range(1, steps + 1):
        m, g = margin(net, x, sigma)
        change = x - origin
        cost, reached = change.abs().sum(1), m >= target
        better = reached & (cost < best)
        best = torch.where(better, cost, best)
        best_x = torch.where(better[:, None], x, best_x)
        penalty = share * g.abs().amax(1, keepdim=True)
        g = g * (~reached)[:, None]
        mean.mul_(BETAS[0]).add_(g, alpha=1 - BETAS[0])
        square.mul_(BETAS[1]).addcmul_(g, g, value=1 - BETAS[1])
        # One scale per person: scaling each feature by itself would move all of them alike and lose
        # the sparsity.
        scale = (square / (1 - BETAS[1] ** t)).amax(1, keepdim=True).sqrt_().add_(1e-8)
        size = step * DECAY**t / scale
        y = change + size * mean / (1 - BETAS[0] ** t)
        x = origin + torch.sign(y) * (y.abs() - size * penalty).clamp_min_(0)
    best, which = best.view(k, n).min(0)
    return best_x.view(k, n, -1)[which, torch.arange(n)], best


def refused_share(pre, images, v, c):
    """The share of samples on which f <= 0: v . max(p + e, 0) = v . max(e, -p) + v . p saves one
    pass over memory.
    """
    level, low, share = -(c + pre @ v), -pre, torch.empty(len(pre), dtype=pre.dtype)
    step = max(2, PIECE // len(v))
    for i in range(0, len(pre), step):
        h = torch.maximum(images, low[i : i + step, None, :])
        f = torch.mv(h.view(-1, h.shape[2]), v).view(h.shape[0], -1)
        share[i : i + step] = (f <= level[i : i + step, None]).sum(1)
    return share / len(images)


def fused_share(pre, images, v, c):
    return (((pre[:, None, :] + images).clamp_min(0) * v).sum(-1) + c <= 0).to(pre.dtype).mean(1)


def land(net, people, points, sigma, r, images, rate):
    """How far along each change the rate on the samples is r, from above; infinite where it is not
    reached.
    """
    z, n = upper_quantile(r), len(people)
    start, way = torch.addmm(net.b, people, net.w.T), (points - people) @ net.w.T
    _, g = margin(net, points, sigma)
    slope = (g * (points - people)).sum(1).clamp_min(1e-3)
    t, low, high = torch.ones(n), torch.zeros(n), torch.full((n,), torch.inf)
    at_low, at_high = torch.full((n,), torch.nan), torch.full((n,), torch.nan)
    # A quarter of the samples is enough to see where to look.
    share = rate(start + way, images[: len(images) // 4].contiguous(), net.v, net.c)
    t += (z - probit(share)) / slope + 1e-3
    t.clamp_(0.3, 3.0)
    active = torch.arange(n)
    for _ in range(ROUNDS):
        now = t[active]
        share = rate(start[active] + now[:, None] * way[active], images, net.v, net.c)
        m, good = probit(share), share <= r
        high[active] = torch.where(good, now, high[active])
        at_high[active] = torch.where(good, m, at_high[active])
        low[active] = torch.where(good, low[active], now)
        at_low[active] = torch.where(good, at_low[active], m)
        a, b = low[active], high[active]
        between = torch.isfinite(b) & (a > 0)
        secant = (at_high[active] - at_low[active]) / (b - a)
        secant = torch.where(between & (secant > 0), secant, slope[active])
        # A little further than the root, so that most land on the good side.
        new = now + (z - m) / secant + 3e-4 * now
        middle = 0.5 * (a + b)
        inside = torch.where((new > a) & (new < b), new, middle)
        outside = new.clamp(min=0.3 * now, max=2.0 * now)
        t[active] = torch.where(between, inside, outside)
        done = (
            (good & (share >= r - 1.5 / len(images))) | (between & (b - a < 1e-3 * b)) | (now > 50)
        )
        active = active[~done]
        if len(active) == 0:
            break
    return high


def bisect(net, people, points, r, images, rate):
    """As `land`, by bisection: everybody, every round."""
    start, way = torch.addmm(net.b, people, net.w.T), (points - people) @ net.w.T
    low, high = torch.full((len(people),), 0.3), torch.full((len(people),), 1.0)
    for _ in range(3):  # far enough out
        short = rate(start + high[:, None] * way, images, net.v, net.c) > r
        if not short.any():
            break
        low, high = torch.where(short, high, low), torch.where(short, 1.5 * high, high)
    reached = rate(start + high[:, None] * way, images, net.v, net.c) <= r
    while (high - low).max() > 1e-3:
        middle = 0.5 * (low + high)
        good = rate(start + middle[:, None] * way, images, net.v, net.c) <= r
        low, high = torch.where(good, low, middle), torch.where(good, middle, high)
    return torch.where(reached, high, torch.inf)


def probit(share):
    return torch.special.ndtri(1 - share.clamp(1e-4, 1 - 1e-4))


def recourse(net, people, sigma, r, images, rate, secants):
    n = len(people)
    answer, found = people.clone(), torch.zeros(n, dtype=torch.bool)
    left = torch.arange(n)
    for extra, penalties, steps in (
        (0.0, PENALTIES, STEPS),
        (0.5, (0.6, 0.3), 160),
        (1.5, (0.4, 0.2, 0.1), 400),
    ):
        target = torch.full((len(left),), upper_quantile(r) + extra)
        points, cost = search(
            net, people[left], sigma, target, penalties, steps, STEP * (1 + extra)
        )
        some = torch.isfinite(cost)
        rows, points = left[some], points[some]
        if secants:
            t = land(net, people[rows], points, sigma, r, images, rate)
        else:
            t = bisect(net, people[rows], points, r, images, rate)
        points = people[rows] + t[:, None] * (points - people[rows])
        good = torch.isfinite(t) & (net.score(torch.nan_to_num(points)) > 0)
        answer[rows[good]] = points[good]
        found[rows[good]] = True
        left = torch.arange(n)[~found]
        if len(left) == 0:
            break
    return answer, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("people")
    parser.add_argument("out")
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--sigma", type=float, required=True)
    parser.add_argument(
        "--secants", action="store_true", help="land by secants instead of a bisection"
    )
    parser.add_argument(
        "--compile",
        action="store_true",
        help="fuse the sampling by torch.compile, where that works",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    net = load_model(options.model, torch.float32)
    if isinstance(net, Linear):
        # w . x = relu(w . x) - relu(-w . x).
        signs = torch.tensor([1.0, -1.0])
        net = Network(signs[:, None] * net.w, torch.zeros(2), signs, net.c)
    people = load_people(options.people, torch.float32)
    rate, note = refused_share, "eager"
    if options.compile:
        try:
            compiled = torch.compile(fused_share, dynamic=True)
            compiled(torch.zeros(7, len(net.b)), torch.zeros(SAMPLES, len(net.b)), net.v, net.c)
            rate, note = compiled, "compiled"
        except Exception as error:  # no compiler on this machine
            note = f"eager ({type(error).__name__} when compiling)"

    def run():
        sobol = torch.quasirandom.SobolEngine(people.shape[1], scramble=True, seed=1)
        uniform = sobol.draw(SAMPLES, dtype=torch.float64).clamp_(1e-9, 1 - 1e-9)
        noise = torch.special.ndtri(uniform).to(torch.float32) * options.sigma
        return recourse(
            net,
            people,
            options.sigma,
            options.rate,
            (noise @ net.w.T).contiguous(),
            rate,
            options.secants,
        )

    run()  # warm-up
    timers = []
    for _ in range(3):
        with Timer() as timer:
            points, found = run()
        timers.append(timer)
    median = sorted(timers, key=lambda timer: timer.cpu)[1]
    write_result(options.out, points, found, median, note)


if __name__ == "__main__":
    main()
