"""`opacus`'s DP-SGD (Poisson sampling, per-example clipping, Gaussian noise) and PyTorch's plain steps, on the same network.

The training loop follows its documentation: `PrivacyEngine.make_private` with a sequential model, plain SGD and a data
loader.
"""

import time
import warnings
from importlib.metadata import version

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings(
    "ignore", "Secure RNG turned off|Full backward hook is firing|Optimal order"
)  # its own defaults
torch.set_num_threads(1)


def steps(meter, records, inputs, depth, width, batch) -> dict:
    """Return the CPU microseconds of a step, including the data loader, over one epoch after an epoch that is not measured."""
    records, inputs, depth, width, batch = map(int, (records, inputs, depth, width, batch))
    rng = np.random.default_rng(7)
    features, labels = rng.random((records, inputs), dtype=np.float32), rng.integers(2, size=records)
    data = TensorDataset(torch.from_numpy(features), torch.from_numpy(labels))
    cost = {}
    for name in ("plain", "private"):
        model, loader = _model(inputs, depth, width), DataLoader(data, batch_size=batch, shuffle=True)
        descent = torch.optim.SGD(model.parameters(), lr=0.01)
        if name == "private":
            model, descent, loader = PrivacyEngine().make_private(
                module=model, optimizer=descent, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0)  # fmt: skip
        _epoch(model, descent, loader)
        with meter:
            began = time.process_time()
            count = _epoch(model, descent, loader)
            cost[name] = 1e6 * (time.process_time() - began) / count
    found = {f"us_per_step_{name}": round(value, 1) for name, value in cost.items()}
    return found | {"ratio_private": round(cost["private"] / cost["plain"], 2), "version": version("opacus")}


def _model(inputs, depth, width):
    widths, layers = (inputs, *[width] * depth), []
    for n, m in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(n, m), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 2))


def _epoch(model, descent, loader) -> int:
    loss, count = torch.nn.CrossEntropyLoss(), 0
    for features, labels in loader:
        descent.zero_grad()
        loss(model(features), labels).backward()
        descent.step()
        count += 1
    return count
