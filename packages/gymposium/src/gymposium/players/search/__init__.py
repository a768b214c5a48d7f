"""Search: a seat's observations (`viewlog`), worlds that match them (`worlds`), the tree over them (`tree`),
OpenSpiel's search for perfect information (`engine`), and rejections (`refusal`)."""
