"""Words from which generated rows take their names."""

from __future__ import annotations

FIRST_NAMES = tuple(
    "Ada Alan Alma Anton Bea Boris Carla Cyril Dana Denis Edith Emil Erna Felix Fiona Gerd Greta Hanna Hugo Ida "
    "Igor Ines Ivan Jana Jonas Julia Karl Kira Leo Lena Lukas Maja Marek Mila Nadia Nils Nora Olga Oskar Paula "
    "Pavel Petra Rosa Ruben Selma Simon Tara Theo Vera Victor Wanda Yusuf".split()
)
LAST_NAMES = tuple(
    "Abel Adler Baker Becker Bloom Brandt Carter Castro Costa Dahl Dietz Duarte Ellis Engel Farkas Fischer Foster "
    "Garcia Graf Haas Hansen Holm Ito Jansen Jensen Kato Keller Klein Kovacs Lange Lopez Marsh Meyer Moreno Novak "
    "Olsen Park Patel Quinn Reyes Richter Rossi Sato Silva Stein Torres Unger Vogel Walsh Weber Young Ziegler".split()
)
TOWNS = tuple(
    "Alder Ashford Bellmere Birchwood Brookfield Cedarton Clearwater Dunmore Eastvale Elmhurst Fairview Foxley "
    "Glenbrook Greystone Harbour Hazelton Highfield Ironbridge Kingsley Lakeside Larkhill Maplewood Millbrook "
    "Northgate Oakdale Pinecrest Riverton Rosewood Sandhurst Southmoor Stonehaven Thornbury Westbrook Willowby".split()
)
ADJECTIVES = tuple(
    "Amber Ancient Bold Bright Calm Classic Copper Crimson Deep Distant Early Electric Emerald Gentle Golden "
    "Grand Hidden Honest Ivory Late Little Lucky Misty Modern Northern Quiet Rapid Royal Silent Silver Simple "
    "Smooth Solid Sunny Urban Velvet Violet Warm White Wild".split()
)
