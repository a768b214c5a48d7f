"""Search: what a seat saw (`viewlog`), worlds that agree with it (`worlds`), the tree over them (`tree`), OpenSpiel's
own search where nothing is hidden (`engine`), and what is refused (`refusal`)."""
