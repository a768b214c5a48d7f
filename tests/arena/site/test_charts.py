"""Positions of chart marks agree with their figures."""

from __future__ import annotations

from hypothesis import given, strategies as st

from gymposium_arena.results.model import Interval, Place, Standing
from gymposium_arena.site.charts import make_cost_plot, make_means_chart, make_ratings_chart

FIGURES = st.lists(st.floats(-5000, 5000), min_size=3, max_size=3).map(sorted)


@given(st.lists(FIGURES, min_size=1, max_size=6))
def test_marks_follow_the_order_of_figures(rows: list[list[float]]) -> None:
    figures = {str(number): Interval(low=low, value=value, high=high) for number, (low, value, high) in enumerate(rows)}
    chart = make_means_chart(figures)
    marks = []
    for number, (low, value, high) in enumerate(rows):
        bar = chart.bars[str(number)]
        assert bar.at is not None
        marks += [(low, float(bar.left)), (value, float(bar.at)), (high, float(bar.right))]
    marks += [(float(tick.text), float(tick.at)) for tick in chart.ticks]
    assert all(0 <= place <= 100 for _, place in marks)
    span = max(figure for figure, _ in marks) - min(figure for figure, _ in marks)
    for one, here in marks:
        for other, there in marks:
            assert here <= there or one > other - 1e-4 * (span + abs(one))  # the text of a tick has six digits


def test_unbounded_end_is_open_and_zero_is_marked() -> None:
    place = Place(rank=1, best=1, worst=1, group="a")
    sure = Standing(
        player="a",
        matches=4,
        bound="at least",
        rating=500,
        low=300,
        high=None,
        place=place,
        returned=None,
        corrected=None,
    )
    weak = sure.model_copy(update={"bound": "at most", "low": None, "high": -200.0})
    none = sure.model_copy(update={"bound": None, "rating": None, "low": None, "place": None})
    chart = make_ratings_chart({"sure": sure, "weak": weak, "none": none})
    assert chart.bars.keys() == {"sure", "weak"}
    assert (chart.bars["sure"].at, chart.bars["sure"].right, chart.bars["sure"].open) == (None, "100", "right")
    assert (chart.bars["weak"].at, chart.bars["weak"].left, chart.bars["weak"].open) == (None, "0", "left")
    assert [tick.text for tick in chart.ticks if tick.main] == ["0"]


def test_cost_axis_is_logarithmic_and_programs_are_lines() -> None:
    plot = make_cost_plot(
        {"best": 400.0, "dear": 300.0, "cheap": 100.0, "close": 395.0}, {"dear": 1000.0, "cheap": 10.0}
    )
    assert [tick.text for tick in plot.across] == ["10", "100", "1000"]
    dear, cheap = plot.points
    assert [(point.player, point.name) for point in (dear, cheap)] == [("dear", "left"), ("cheap", "right")]
    assert float(cheap.x) == float(plot.across[0].at)
    assert float(dear.x) == float(plot.across[2].at)
    assert float(dear.y) < float(cheap.y), "more strength stands higher"
    assert [(level.player, level.named) for level in plot.levels] == [("best", True), ("close", False)]
