import ecnlab
from ecnlab.validation import collapse

LISTED_POINTS = list(collapse.collapse_checks())


def test_every_row_of_the_table_is_checked_for_tcp_and_for_udp() -> None:
    assert [(check.predicted, check.unit) for check in LISTED_POINTS[:4]] == [(98.5, "%"), (0.7, "%"), (97.3, "%"), (1.7, "%")]
    assert len(LISTED_POINTS) == 32
    assert [ecnlab.scenario(check.tree).warnings for check in LISTED_POINTS] == [[]] * 32


def test_datagrams_arrive_at_the_rates_of_the_paper_s_table() -> None:
    for (_, arrives, _, _), check in zip(collapse.PAPER_TABLE_1, LISTED_POINTS[::2], strict=True):
        result = ecnlab.run(ecnlab.scenario(check.tree), seed=1)
        offered = result.values("sent", group="udp")[0] * 800 / 1.5e6
        assert abs(offered - arrives) < 0.051, "the table is rounded to one digit"
