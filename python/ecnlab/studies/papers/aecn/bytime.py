"""Figures against time: goodput and throughput of each group (4.16-4.19, 5.5), and the queue (4.3, 4.4, 4.11, 4.12, 5.28)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from ecnlab.plot import series, style
from ecnlab.scenarios import networks
from ecnlab.scenarios.networks import ThesisNetworkParameters
from ecnlab.studies.framework.model import DrawnItemContent, RequiredScenario, ResultsByKey, StudyItem
from ecnlab.studies.papers.aecn import schemes

_SCHEMES = ("ECN", "RED")
_END_S = 100.0


def rates_over_time_item(
    number: str, flows: int, max_p: float, network: ThesisNetworkParameters, quantity: str = schemes.GOODPUT
) -> StudyItem:
    """The item of a rate of each group against time, under ECN and under RED."""
    word = "Throughput" if quantity == schemes.THROUGHPUT else "Goodput"
    settings = f"{flows} flows, max_p {max_p:g}, {network.title} network"
    return StudyItem(
        number=number,
        title=f"{word} of each group against time, ECN and RED, {settings}",
        caption="1 s bins, mean over seeds with its 95 % interval as a band.",
        needs={
            (name,): RequiredScenario(schemes.scheme_scenario(name, flows, max_p, network, record={"rates": True})) for name in _SCHEMES
        },
        draw=lambda results: _draw_rates_over_time(results, quantity),
        part=schemes.REPORT_PARTS[network.title],
    )


def queue_over_time_item(number: str, name: str, flows: int, max_p: float, network: ThesisNetworkParameters) -> StudyItem:
    """The item of a scheme's queue against time."""
    settings = f"{flows} flows, max_p {max_p:g}, {network.title} network"
    tree = schemes.scheme_scenario(name, flows, max_p, network, record={"queue": "10 ms"})
    return StudyItem(
        number=number,
        title=f"{name}'s queue against time, {flows} flows",
        caption=f"{settings}; every 10 ms of the first seed, the average that {name} keeps, min_th and max_th dashed.",
        needs={(name,): RequiredScenario(tree, every_seed=False)},
        draw=lambda results: _draw_queue_over_time(results, name),
        part=schemes.REPORT_PARTS[network.title],
    )


def _draw_rates_over_time(results: ResultsByKey, quantity: str) -> DrawnItemContent:
    figure, axes = style.figure_with_panels(2, 1, shape=0.95, sharex=True, sharey=True)
    for axis, name in zip(axes, _SCHEMES, strict=True):
        series.draw_rates(axis, results[name,].series.rate, quantity, networks.GROUPS, schemes.GROUP_PALETTE)
        series.set_time_span(axis, _END_S)
        axis.set_title(name, loc="left")
    axes[0].set_xlabel("")
    style.shared_legend_of_panels(figure, axes[0])
    frames = [
        mean_rate_frame(results[name,].series.rate, group, quantity, {"scheme": name, "group": group})
        for name in _SCHEMES
        for group in networks.GROUPS
    ]
    return DrawnItemContent(figure, data=pl.concat(frames))


def mean_rate_frame(rates: pl.DataFrame, group: str, quantity: str, labels: Mapping[str, str]) -> pl.DataFrame:
    """A group's rate against time, its mean over seeds with its interval, behind columns with these labels."""
    means = series.mean_over_seeds(rates.filter(rates["group"] == group), quantity).rename({"mean": quantity})
    return means.select(*(pl.lit(label).alias(name) for name, label in labels.items()), pl.all())


def _draw_queue_over_time(results: ResultsByKey, name: str) -> DrawnItemContent:
    result = results[name,]
    frame = result.only(result.seeds[0]).series.queue
    figure, (axes,) = style.figure_with_panels()
    series.draw_queue(axes, frame)
    series.set_time_span(axes, _END_S)
    for threshold in (10, 30):
        axes.axhline(threshold, color="black", linewidth=0.6, linestyle="--")
    style.legend_above(axes)
    return DrawnItemContent(figure, data=frame)
