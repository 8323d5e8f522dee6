"""The paper's procedure (Algorithm 1 of arXiv:2203.06768) as its appendix and released code run it, one person at a time.

Gradient steps (Adam with amsgrad, 0.07) on 3 * relu(rate~ - r) + (p(x) - 1)^2 + lambda3 * |x - x0|_1, where rate~ is the closed form
and p the softmax probability; after each step the rate is estimated on 10,000 fresh samples, and the search stops when it is at most
r and the point is favourable. lambda3 goes from 1 down to 0 until a recourse is found.

Not taken over from the released code, so that it is not beaten for its slips: lambda3 stops at 0 instead of going negative, acceptance is
at r and not r + 0.01, the budget is a number of steps and not of seconds, and a person without a recourse is reported as such.
"""

import argparse

import torch
from common import Timer, load_network, load_people, write_result

LAMBDAS = (1.0, 0.75, 0.5, 0.25, 0.1, 0.05, 0.01, 0.0)
STEPS, STEP, WEIGHT, SAMPLES = 300, 0.07, 3.0, 10_000


def closed_form_rate(net, x, sigma):
    (gradient,) = torch.autograd.grad(net.score(x[None])[0], x, create_graph=True)
    score = net.score(x[None])[0]
    normal = torch.distributions.Normal(0.0, 1.0)
    return 1 - normal.cdf(score / (sigma * gradient.norm()).clamp_min(1e-12)), score


def sampled_rate(net, x, sigma, generator):
    with torch.no_grad():
        noise = torch.randn(SAMPLES, len(x), generator=generator, dtype=x.dtype)
        return (net.score(x + sigma * noise) <= 0).to(x.dtype).mean().item()


def recourse(net, person, sigma, r, generator):
    for weight in LAMBDAS:
        x = person.clone().requires_grad_(True)
        adam = torch.optim.Adam([x], lr=STEP, amsgrad=True)
        for _ in range(STEPS):
            rate, score = closed_form_rate(net, x, sigma)
            miss = (torch.sigmoid(score) - 1) ** 2
            loss = WEIGHT * (rate - r).clamp_min(0) + miss + weight * (x - person).abs().sum()
            adam.zero_grad()
            loss.backward()
            adam.step()
            sampled = sampled_rate(net, x.detach(), sigma, generator)
            if sampled <= r and net.score(x[None].detach()).item() > 0:
                return x.detach(), True
    return person, False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("people")
    parser.add_argument("out")
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--sigma", type=float, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    net = load_network(options.model, torch.float32)
    people = load_people(options.people, torch.float32)
    generator = torch.Generator().manual_seed(0)
    sampled_rate(net, people[0], options.sigma, generator)  # warm-up
    with Timer() as timer:
        answers = [recourse(net, person, options.sigma, options.rate, generator) for person in people]
    points, found = torch.stack([x for x, _ in answers]), torch.tensor([ok for _, ok in answers])
    write_result(options.out, points, found, timer, "eager")


if __name__ == "__main__":
    main()
