#!/usr/bin/env python3
"""PyTorch's side: torch_side.py FOLDER MODEL f32|bf16 eager|compiled [--small] [--values N]

Trains or infers with the values that graphs.py wrote, and answers as bench/runner.h says. bf16 is autocast. With
"ceilings" for MODEL, prints what the machine can do at most, as PyTorch does it.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import sizes


class Values:
    """What graphs.py wrote, in PyTorch's layouts."""

    def __init__(self, path):
        self.arrays = np.load(path)

    def tensor(self, name):
        return torch.from_numpy(np.ascontiguousarray(self.arrays[name]))

    def ids(self, name):
        return self.tensor(name).long()

    def parameter(self, name):
        return nn.Parameter(self.tensor(name))

    def linear(self, name):
        weights = self.tensor(f"{name}/w").T.contiguous()
        layer = nn.Linear(weights.shape[1], weights.shape[0])
        layer.weight, layer.bias = nn.Parameter(weights), self.parameter(f"{name}/b")
        return layer

    def convolution(self, name, stride=1, bias=False):
        weights = self.tensor(f"{name}/w").permute(3, 2, 0, 1).contiguous()
        outputs, inputs, size, _ = weights.shape
        layer = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=bias)
        layer.weight = nn.Parameter(weights)
        if bias:
            layer.bias = self.parameter(f"{name}/b")
        return layer

    def embedding(self, name, sparse=False):
        return nn.Embedding.from_pretrained(self.tensor(name), freeze=False, sparse=sparse)

    def layer_norm(self, name):
        layer = nn.LayerNorm(len(self.arrays[f"{name}/scale"]), eps=1e-5)
        layer.weight, layer.bias = self.parameter(f"{name}/scale"), self.parameter(f"{name}/offset")
        return layer


class Mlp(nn.Module):
    def __init__(self, values, count):
        super().__init__()
        self.layers = nn.ModuleList([values.linear(f"dense{i}") for i in range(count)])

    def forward(self, x, labels):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return F.cross_entropy(self.layers[-1](x).float(), labels)


class Convnet(nn.Module):
    def __init__(self, values):
        super().__init__()
        self.convolutions = nn.ModuleList([values.convolution(f"conv{i}", bias=True) for i in range(3)])
        self.dense = values.linear("dense")

    def forward(self, x, labels):
        for convolution in self.convolutions:
            x = F.max_pool2d(F.relu(convolution(x)), 2)
        return F.cross_entropy(self.dense(x.permute(0, 2, 3, 1).flatten(1)).float(), labels)


class Bottleneck(nn.Module):
    def __init__(self, values, name, stride, has_shortcut):
        super().__init__()
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        for i in range(4 if has_shortcut else 3):
            convolution = values.convolution(f"{name}/conv{i}", stride if i in (1, 3) else 1)
            self.convolutions.append(convolution)
            self.norms.append(nn.BatchNorm2d(convolution.out_channels, eps=1e-5))

    def forward(self, x):
        y = x
        for i in range(3):
            y = self.norms[i](self.convolutions[i](y))
            y = F.relu(y) if i < 2 else y
        return F.relu(y + (self.norms[3](self.convolutions[3](x)) if len(self.norms) > 3 else x))


class ResNet(nn.Module):
    def __init__(self, values, size):
        super().__init__()
        first = values.convolution("conv", 2)
        layers = [first, nn.BatchNorm2d(first.out_channels, eps=1e-5), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)]
        for stage, count in enumerate(size["blocks"]):
            for i in range(count):
                layers.append(Bottleneck(values, f"stage{stage}/block{i}", 2 if stage > 0 and i == 0 else 1, i == 0))
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), values.linear("dense"))

    def forward(self, x, labels):
        return F.cross_entropy(self.layers(x).float(), labels)


class Block(nn.Module):
    def __init__(self, values, name, size, causal, norm_first, approximate):
        super().__init__()
        self.heads, self.causal, self.norm_first, self.approximate = size["heads"], causal, norm_first, approximate
        self.qkv, self.out, self.up, self.down = (values.linear(f"{name}/{part}") for part in ("qkv", "out", "up", "down"))
        self.norm0, self.norm1 = values.layer_norm(f"{name}/norm0"), values.layer_norm(f"{name}/norm1")

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, 2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def feed_forward(self, x):
        return self.down(F.gelu(self.up(x), approximate=self.approximate))

    def forward(self, x):
        if self.norm_first:
            x = x + self.attend(self.norm0(x))
            return x + self.feed_forward(self.norm1(x))
        x = self.norm0(x + self.attend(x))
        return self.norm1(x + self.feed_forward(x))


class Gpt(nn.Module):
    def __init__(self, values, size):
        super().__init__()
        self.embedding, self.positions = values.embedding("embedding"), values.parameter("positions")
        self.blocks = nn.Sequential(*[Block(values, f"block{i}", size, True, True, "tanh") for i in range(size["blocks"])])
        self.norm = values.layer_norm("norm")

    def forward(self, tokens, labels):
        x = self.norm(self.blocks(self.embedding(tokens) + self.positions))
        return F.cross_entropy(F.linear(x, self.embedding.weight).float().flatten(0, 1), labels.flatten())


class Bert(nn.Module):
    def __init__(self, values, size):
        super().__init__()
        self.embedding, self.positions = values.embedding("embedding"), values.parameter("positions")
        self.segments, self.norm = values.parameter("segments"), values.layer_norm("norm")
        self.blocks = nn.Sequential(*[Block(values, f"block{i}", size, False, False, "none") for i in range(size["blocks"])])
        self.pooler = values.linear("pooler")

    def forward(self, tokens):
        x = self.blocks(self.norm(self.embedding(tokens) + self.positions + self.segments[0]))
        return torch.tanh(self.pooler(x[:, 0])).float().square().mean()


class Lstm(nn.Module):
    def __init__(self, values, size):
        super().__init__()
        units = size["units"]
        self.lstm = nn.LSTM(units, units)
        kernel = values.tensor("kernel").T.contiguous()
        self.lstm.weight_ih_l0 = nn.Parameter(kernel[:, :units].contiguous())
        self.lstm.weight_hh_l0 = nn.Parameter(kernel[:, units:].contiguous())
        nn.init.zeros_(self.lstm.bias_ih_l0)
        nn.init.zeros_(self.lstm.bias_hh_l0)
        self.lstm.bias_hh_l0.requires_grad_(False)  # the graph has one bias
        self.dense = values.linear("dense")

    def forward(self, x, labels):
        return F.cross_entropy(self.dense(self.lstm(x)[0][-1]).float(), labels)


class Dlrm(nn.Module):
    def __init__(self, values, size):
        super().__init__()
        self.bottom = nn.ModuleList([values.linear(f"bottom{i}") for i in range(len(size["bottom"]) + 1)])
        self.top = nn.ModuleList([values.linear(f"top{i}") for i in range(len(size["top"]))] + [values.linear("top")])
        self.tables = nn.ModuleList([values.embedding(f"table{i}", sparse=True) for i in range(size["tables"])])
        rows, columns = np.tril_indices(size["tables"] + 1, -1)
        self.register_buffer("lower", torch.from_numpy(rows * (size["tables"] + 1) + columns))

    def forward(self, dense, ids, labels):
        for layer in self.bottom:
            dense = F.relu(layer(dense))
        vectors = torch.stack([dense, *[table(column).to(dense.dtype) for table, column in zip(self.tables, ids)]], 1)
        dots = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)[:, self.lower]
        x = torch.cat([dense, dots], 1)
        for layer in self.top[:-1]:
            x = F.relu(layer(x))
        return F.binary_cross_entropy_with_logits(self.top[-1](x).float().flatten(), labels.float())


class WideDeep(nn.Module):
    def __init__(self, values, size):
        super().__init__()
        self.wide, self.deep = (nn.ModuleList([values.embedding(f"{kind}{i}", sparse=True) for i in range(size["tables"])])
                                for kind in ("wide", "deep"))
        self.hidden = nn.ModuleList([values.linear(f"hidden{i}") for i in range(len(size["hidden"]))])
        self.logits = values.linear("logits")

    def forward(self, dense, ids, labels):
        x = torch.cat([dense, *[table(column) for table, column in zip(self.deep, ids)]], 1)
        for layer in self.hidden:
            x = F.relu(layer(x))
        logits = self.logits(x).float()
        for table, column in zip(self.wide, ids):
            logits = logits + table(column)
        return F.binary_cross_entropy_with_logits(logits.flatten(), labels.float())


class Sparse:
    """Adagrad for the tables, whose gradients are rows, and for the rest."""

    def __init__(self, model, rate):
        def options(parameters, **more):
            return torch.optim.Adagrad(parameters, lr=rate, initial_accumulator_value=0.1, **more)

        sparse = [p for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()]
        known = {id(p) for p in sparse}
        dense = [p for p in model.parameters() if id(p) not in known]
        self.optimizers = [options(sparse), options(dense, fused=True)]

    def zero_grad(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


def build(name, values, size):
    """The model, its arguments, and its optimizer; None for inference."""
    labels = values.ids("labels") if "labels" in values.arrays else None
    if name.startswith("mlp"):
        model = Mlp(values, 2 if name == "mlp_small" else 3)
        adam = name == "mlp_adam"
        optimizer = torch.optim.Adam if adam else torch.optim.SGD
        return model, (values.tensor("x"), labels), optimizer(model.parameters(), lr=1e-3 if adam else 0.01, fused=True)
    if name == "convnet" or name.startswith("resnet"):
        x = values.tensor("x").permute(0, 3, 1, 2)  # channels last, as the graph has them
        model = (Convnet(values) if name == "convnet" else ResNet(values, size)).to(memory_format=torch.channels_last)
        rate, momentum = (0.002, 0) if name == "convnet" else (0.01, 0.9)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum, fused=True)
        return model, (x, labels), None if name.endswith("infer") else optimizer
    if name == "gpt2":
        model = Gpt(values, size)
        return model, (values.ids("tokens"), labels), torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    if name.startswith("bert"):
        return Bert(values, size), (values.ids("tokens"),), None
    if name == "lstm":
        model = Lstm(values, size)
        trained = [p for p in model.parameters() if p.requires_grad]
        return model, (values.tensor("x"), labels), torch.optim.SGD(trained, lr=0.01, fused=True)
    ids = [values.ids(f"ids{i}") for i in range(size["tables"])]
    model = Dlrm(values, size) if name == "dlrm" else WideDeep(values, size)
    return model, (values.tensor("dense"), ids, labels), Sparse(model, 0.01 if name == "dlrm" else 0.05)


def step_of(name, values, size, type_name, form):
    model, arguments, optimizer = build(name, values, size)
    model.train(optimizer is not None)
    run = torch.compile(model) if form == "compiled" else model
    autocast = type_name == "bf16"

    def loss():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            return run(*arguments)

    def infer():
        with torch.inference_mode():
            return loss().item()

    def train():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.item()

    return infer if optimizer is None else train


def rate(work, runs=5):
    """The most of `work` a second, of several runs."""
    work()
    best = 0
    for _ in range(runs):
        start = time.perf_counter()
        done = work()
        best = max(best, done / (time.perf_counter() - start))
    return best


def ceilings():
    """Products of 2048 x 2048, and a copy of 256 MiB (read once, written once)."""
    def product(type_):
        a, b = torch.randn(2048, 2048).to(type_), torch.randn(2048, 2048).to(type_)
        out = torch.empty(2048, 2048, dtype=type_)

        def work():
            torch.mm(a, b, out=out)
            return 2 * 2048**3

        return work

    source, target = torch.ones(64 << 20), torch.empty(64 << 20)

    def copy():
        target.copy_(source)
        return 2 * source.nbytes

    return {"f32": rate(product(torch.float32)), "bf16": rate(product(torch.bfloat16)), "bytes": rate(copy)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("type", nargs="?", choices=["f32", "bf16"])
    parser.add_argument("form", nargs="?", choices=["eager", "compiled"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--values", type=int, default=0)
    options = parser.parse_args()
    if options.model == "ceilings":
        print(json.dumps(ceilings()))
        return
    values = Values(options.folder / f"{options.model}.npz")
    step = step_of(options.model, values, sizes.named(options.model, options.small), options.type, options.form)
    for _ in range(options.values):
        print(f"{step():.9g}")
    if options.values:
        return
    step()
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
