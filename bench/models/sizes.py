"""Sizes of the models, and those of their short form."""

TYPE_NAMES = {"float32": "f32", "bfloat16": "bf16"}

_RESNET = {"batch": 16, "side": 224, "width": 64, "blocks": [3, 4, 6, 3], "classes": 1000}
_SMALL_RESNET = {"batch": 4, "side": 64, "width": 8, "blocks": [1, 1], "classes": 10}
_BERT = {"length": 128, "width": 768, "heads": 12, "blocks": 12, "vocabulary": 30522}
_SMALL_BERT = {"length": 16, "width": 32, "heads": 2, "blocks": 2, "vocabulary": 100}

_FULL = {
    "mlp_sgd": {"batch": 100},
    "mlp_adam": {"batch": 100},
    "mlp_small": {"batch": 100},
    "convnet": {"batch": 32},
    "lstm": {"batch": 64, "units": 256, "steps": 50},
    "dlrm": {"batch": 2048, "tables": 26, "rows": 100_000, "width": 16, "bottom": [512, 256, 64], "top": [512, 256]},
    "wide_deep": {"batch": 2048, "tables": 26, "rows": 100_000, "width": 16, "hidden": [256, 128, 64]},
    "bert_b1": {"batch": 1, **_BERT},
    "bert_b8": {"batch": 8, **_BERT},
    "resnet50_infer": _RESNET,
    "resnet50_train": _RESNET,
    "gpt2": {"batch": 2, "length": 256, "width": 768, "heads": 12, "blocks": 12, "vocabulary": 50257},
}
_SMALL = {
    "mlp_sgd": {"batch": 16},
    "mlp_adam": {"batch": 16},
    "mlp_small": {"batch": 16},
    "convnet": {"batch": 4},
    "lstm": {"batch": 16, "units": 64, "steps": 10},
    "dlrm": {"batch": 64, "tables": 5, "rows": 200, "width": 8, "bottom": [16], "top": [16]},
    "wide_deep": {"batch": 64, "tables": 5, "rows": 200, "width": 8, "hidden": [16, 8]},
    "bert_b1": {"batch": 1, **_SMALL_BERT},
    "bert_b8": {"batch": 4, **_SMALL_BERT},
    "resnet50_infer": _SMALL_RESNET,
    "resnet50_train": _SMALL_RESNET,
    "gpt2": {"batch": 2, "length": 16, "width": 32, "heads": 2, "blocks": 2, "vocabulary": 100},
}
NAMES = list(_FULL)

WORK = {
    "mlp_sgd": "MLP 784-512-512-10, batch 100, SGD",
    "mlp_adam": "MLP 784-512-512-10, batch 100, Adam",
    "mlp_small": "MLP 784-64-10, batch 100, SGD",
    "convnet": "three-layer convnet 32x32x3, batch 32, SGD",
    "lstm": "LSTM, 256 units, 50 steps, batch 64, SGD",
    "dlrm": "DLRM, 26 tables, batch 2048, Adagrad",
    "wide_deep": "wide and deep, 26 columns, batch 2048, Ftrl and Adagrad",
    "bert_b1": "BERT-base inference, 1 x 128",
    "bert_b8": "BERT-base inference, 8 x 128",
    "resnet50_infer": "ResNet-50 inference, batch 16",
    "resnet50_train": "ResNet-50 training, batch 16, momentum",
    "gpt2": "GPT-2 small training, 2 x 256, Adam",
}


def named(name, small):
    if name == "ceiling":
        return {"side": 64 if small else 2048}
    return (_SMALL if small else _FULL)[name]

