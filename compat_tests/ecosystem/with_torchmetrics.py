"""The metrics of torchmetrics that need nothing else: of classes, of numbers, of rankings, of signals, of texts."""

import copy
import pickle

import torch
import torchmetrics.functional as F
from torchmetrics import MeanMetric, Metric, MetricCollection, classification, regression, retrieval, text, wrappers


def show(values: dict[str, torch.Tensor]) -> None:
    for name, value in values.items():
        print(name, *value.double().flatten().tolist())


torch.manual_seed(0)
scores, target = torch.randn(64, 5).softmax(-1), torch.randint(5, (64,))
classes = MetricCollection([
    getattr(classification, f"Multiclass{name}")(5)
    for name in (
        "Accuracy", "F1Score", "AUROC", "ConfusionMatrix", "CalibrationError", "CohenKappa", "MatthewsCorrCoef",
        "JaccardIndex", "Precision", "Recall", "Specificity", "StatScores", "HingeLoss", "AveragePrecision",
    )
])  # fmt: skip
for part in range(0, 64, 16):
    classes.update(scores[part : part + 16], target[part : part + 16])
show(classes.compute())

chance, truth = torch.rand(64), torch.randint(2, (64,))
binary = ("Accuracy", "AUROC", "AveragePrecision", "F1Score", "ConfusionMatrix")
show(MetricCollection([getattr(classification, f"Binary{name}")() for name in binary])(chance, truth))
show(dict(zip("xyz", classification.BinaryROC(thresholds=5)(chance, truth))))
show(dict(zip("xyz", classification.BinaryPrecisionRecallCurve()(chance, truth))))
several = ("AUROC", "F1Score", "RankingLoss")
labels = torch.rand(64, 5), torch.randint(2, (64, 5))
show(MetricCollection([getattr(classification, f"Multilabel{name}")(5) for name in several])(*labels))

numbers = (
    "MeanSquaredError", "MeanAbsoluteError", "R2Score", "PearsonCorrCoef", "SpearmanCorrCoef", "ExplainedVariance",
    "KendallRankCorrCoef", "MeanSquaredLogError", "ConcordanceCorrCoef", "LogCoshError", "TweedieDevianceScore",
)  # fmt: skip
x, y = torch.rand(50), torch.rand(50)
show(MetricCollection([getattr(regression, name)() for name in numbers])(x, y))

ranks = torch.arange(64) // 8
show(
    {
        "ndcg": retrieval.RetrievalNormalizedDCG()(chance, truth, indexes=ranks),
        "perplexity": text.Perplexity()(torch.randn(2, 8, 5), torch.randint(5, (2, 8))),
        "ssim": F.structural_similarity_index_measure(*torch.rand(2, 1, 3, 32, 32), data_range=1.0),
        "snr": F.signal_noise_ratio(*torch.randn(2, 2, 100)),
        "cosine": F.cosine_similarity(*torch.randn(2, 4, 8)),
        "distance": F.pairwise_euclidean_distance(torch.randn(4, 3)),
        "words": F.word_error_rate(["a b c"], ["a b d"]),
    }
)


class Total(Metric):
    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, x: torch.Tensor) -> None:
        self.total += x.sum()

    def compute(self) -> torch.Tensor:
        return self.total


total = Total()
show({"total": total(x), "sum": (MeanMetric() + 1)(x), "pickled": pickle.loads(pickle.dumps(total)).compute()})
assert copy.deepcopy(classes).compute().keys() == classes.compute().keys()
tracker = wrappers.MetricTracker(regression.MeanSquaredError(), maximize=False)
for step in range(3):
    tracker.increment()
    tracker.update(x, y * step)
print(*tracker.best_metric(return_step=True))
