#!/usr/bin/env python3
"""The rows of weir_gpu_bench in PyTorch: torch_peer.py [--cpu] [--small] [row…]. A line of JSON for each figure."""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F

UNITS = {"small_kernels": "us", "matmul": "TFLOP/s", "copy_to_device": "GB/s", "copy_to_host": "GB/s",
         "resnet50": "images/s", "gpt2": "tokens/s"}


class Bench:
    def __init__(self, device, small):
        self.device, self.small = device, small
        self.on_gpu = device == "cuda"

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def seconds(self, step, warm_ups, steps):
        warm_ups, steps = (1, 2) if self.small else (warm_ups, steps)
        for _ in range(warm_ups):
            step()
        self.wait()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        self.wait()
        return (time.perf_counter() - start) / steps

    def show(self, row, form, value, peak=0):
        line = {"row": row, "form": form, "value": value, "unit": UNITS[row], "peak_bytes": peak}
        print(json.dumps(line), flush=True)

    # Rows.

    def small_kernels(self):
        kernels = 10 if self.small else 1000
        x = torch.ones(1, device=self.device)

        def add_all():
            y = x
            for _ in range(kernels):
                y = y + x
            return y

        self.show("small_kernels", "eager", self.seconds(add_all, 10, 100) / kernels * 1e6)
        if self.on_gpu:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                add_all()
            self.show("small_kernels", "CUDA graph", self.seconds(graph.replay, 10, 100) / kernels * 1e6)

    def matmul(self):
        size = 32 if self.small else 8192
        a, b = (torch.ones(size, size, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        self.show("matmul", "eager", 2 * size**3 / self.seconds(lambda: a @ b, 10, 100) / 1e12)

    def copies(self, row, from_host):
        size = (1 << 16 if self.small else 256 << 20) // 4
        host = torch.ones(size, pin_memory=self.on_gpu)
        there = torch.ones(size, device=self.device)
        to, source = (there, host) if from_host else (host, there)
        took = self.seconds(lambda: to.copy_(source, non_blocking=True), 10, 50)
        self.show(row, "eager", size * 4 / took / 1e9)

    def copy_to_device(self):
        self.copies("copy_to_device", from_host=True)

    def copy_to_host(self):
        self.copies("copy_to_host", from_host=False)

    def train(self, row, make_model, inputs, labels, make_optimizer, examples):
        for form in ["eager", "compiled"]:
            torch.manual_seed(1)
            if self.on_gpu:
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            model = make_model().to(self.device)
            optimizer = make_optimizer(model.parameters())
            forward = torch.compile(model) if form == "compiled" else model

            def step():
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast(self.device, dtype=torch.bfloat16):
                    logits = forward(inputs)
                loss = F.cross_entropy(logits.float().flatten(0, -2), labels.flatten())
                loss.backward()
                optimizer.step()

            took = self.seconds(step, 10, 50)
            self.show(row, form, examples / took, torch.cuda.max_memory_allocated() if self.on_gpu else 0)
            del model, optimizer, forward

    def resnet50(self):
        batch, side = (2, 32) if self.small else (256, 224)
        options = dict(blocks=(1, 1), width=4, classes=10) if self.small else {}
        classes = options.get("classes", 1000)
        images = torch.randn(batch, 3, side, side, device=self.device).to(memory_format=torch.channels_last)
        labels = torch.randint(classes, (batch,), device=self.device)
        self.train("resnet50", lambda: ResNet(**options).to(memory_format=torch.channels_last), images, labels,
                   lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), batch)

    def gpt2(self):
        batch = 2 if self.small else 8
        options = dict(vocabulary=50, context=16, width=16, heads=2, blocks=2) if self.small else {}
        model = Gpt(**options)
        tokens, labels = (torch.randint(model.vocabulary, (batch, model.context), device=self.device) for _ in range(2))
        self.train("gpt2", lambda: Gpt(**options), tokens, labels, lambda p: torch.optim.Adam(p, lr=3e-4, fused=True),
                   batch * model.context)


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False),
                         nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.reduce, self.spatial = convolution(inputs, width, 1), convolution(width, width, 3, stride)
        self.expand = convolution(width, 4 * width, 1)
        same = inputs == 4 * width and stride == 1
        self.shortcut = nn.Identity() if same else convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        y = F.relu(self.spatial(F.relu(self.reduce(x))))
        return F.relu(self.expand(y) + self.shortcut(x))


class ResNet(nn.Sequential):
    def __init__(self, blocks=(3, 4, 6, 3), width=64, classes=1000):
        layers = [convolution(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
        channels = width
        for stage, count in enumerate(blocks):
            for block in range(count):
                layers.append(Bottleneck(channels, width << stage, 2 if stage > 0 and block == 0 else 1))
                channels = 4 * (width << stage)
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, context, width = x.shape
        q, k, v = (part.view(batch, context, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, context, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocabulary=50257, context=1024, width=768, heads=12, blocks=12):
        super().__init__()
        self.vocabulary, self.context = vocabulary, context
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true", help="on the CPU, to show that it runs")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("rows", nargs="*", metavar="row", choices=[[], *UNITS])
    options = parser.parse_args()
    bench = Bench("cpu" if options.cpu else "cuda", options.small)
    for row in options.rows or UNITS:
        getattr(bench, row)()


if __name__ == "__main__":
    main()
