"""Search: what a seat saw (`viewlog`), worlds that agree with it (`worlds`), the tree over them (`tree`), OpenSpiel's
own search for perfect information (`engine`), and refusals (`refusal`)."""
