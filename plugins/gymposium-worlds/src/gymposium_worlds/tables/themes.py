"""Themes of databases."""

from __future__ import annotations

from gymposium_worlds.tables.entities import (
    Theme,
    make_category_column,
    make_date_column,
    make_decimal_column,
    make_event_entity,
    make_integer_column,
    make_person_entity,
    make_place_entity,
    make_thing_entity,
)

THEMES = (
    Theme(
        make_place_entity(
            "branch store",
            make_integer_column("staff_count employee_count", 3, 60),
            make_decimal_column("floor_area", 80, 900),
        ),
        make_person_entity(
            "customer client buyer",
            make_category_column("plan membership", "basic silver gold platinum"),
            make_integer_column("age", 18, 90),
            make_decimal_column("credit balance", 0, 400),
            make_date_column("joining_date entry_date"),
        ),
        make_thing_entity(
            "product article",
            "Lamp Chair Table Kettle Clock Mirror Basket Shelf Blanket Vase Stool Radio",
            make_category_column("department section", "kitchen garden office bedroom hall"),
            make_decimal_column("price list_price", 4, 300),
            make_integer_column("stock", 0, 250),
        ),
        make_event_entity(
            "order purchase",
            make_category_column("channel", "web shop phone fair"),
            make_integer_column("quantity amount", 1, 12),
            make_date_column("order_date"),
            make_decimal_column("discount rebate", 0, 20),
        ),
    ),
    Theme(
        make_place_entity(
            "district quarter",
            make_integer_column("household_count", 200, 9000),
            make_integer_column("library_count", 1, 9),
        ),
        make_person_entity(
            "reader borrower",
            make_category_column("card card_type", "child student adult senior"),
            make_integer_column("age", 6, 95),
            make_decimal_column("debt", 0, 30),
            make_date_column("registration_date"),
        ),
        make_thing_entity(
            "book volume",
            "River Harbour Winter Garden Letter Island Bridge Mountain Storm Mirror Journey Orchard",
            make_category_column("genre", "crime poetry history travel science"),
            make_integer_column("page_count length", 60, 900),
            make_decimal_column("price", 5, 60),
            make_integer_column("copy_count", 1, 14),
        ),
        make_event_entity(
            "loan",
            make_category_column("desk", "main annex bus online"),
            make_integer_column("duration", 1, 42),
            make_date_column("lending_date due_date"),
            make_decimal_column("fee charge", 0, 12),
        ),
    ),
    Theme(
        make_place_entity(
            "campus hall", make_integer_column("room_count", 10, 140), make_integer_column("teacher_count", 5, 90)
        ),
        make_person_entity(
            "student pupil",
            make_category_column("stream track", "science arts sports music"),
            make_integer_column("grade", 5, 13),
            make_decimal_column("mark", 1, 6),
            make_date_column("birth_date birthday"),
        ),
        make_thing_entity(
            "course lecture",
            "Algebra Chemistry Drama Economics Geometry Grammar Logic Painting Physics Rhetoric Statistics Theology",
            make_category_column("level", "introductory intermediate advanced"),
            make_integer_column("workload", 1, 12),
            make_decimal_column("material_fee fee", 0, 90),
        ),
        make_event_entity(
            "enrolment registration",
            make_category_column("status", "active finished dropped waiting"),
            make_integer_column("score", 0, 100),
            make_date_column("enrolment_date"),
            make_decimal_column("attendance", 0, 60),
        ),
    ),
    Theme(
        make_place_entity(
            "ward unit", make_integer_column("bed_count", 8, 60), make_integer_column("nurse_count", 4, 40)
        ),
        make_person_entity(
            "patient",
            make_category_column("insurance insurer", "public private company mixed"),
            make_integer_column("age", 0, 99),
            make_decimal_column("weight", 20, 130),
            make_date_column("admission_date"),
        ),
        make_thing_entity(
            "treatment therapy_plan",
            "Bandage Massage Exercise Scan Bath Vaccine Laser Plaster Diet Check Infusion Test",
            make_category_column("risk", "low medium high"),
            make_decimal_column("cost tariff", 10, 900),
            make_integer_column("duration", 5, 180),
        ),
        make_event_entity(
            "appointment visit",
            make_category_column("outcome result", "cured better same referred"),
            make_integer_column("waiting_time", 0, 120),
            make_date_column("visiting_date"),
            make_decimal_column("copayment", 0, 50),
        ),
    ),
    Theme(
        make_place_entity(
            "club studio", make_integer_column("locker_count", 20, 300), make_integer_column("trainer_count", 2, 30)
        ),
        make_person_entity(
            "member athlete",
            make_category_column("team squad", "red blue green yellow"),
            make_integer_column("age", 14, 80),
            make_decimal_column("body_weight", 45, 120),
            make_date_column("joining_date"),
        ),
        make_thing_entity(
            "workout drill",
            "Climb Sprint Row Stretch Lift Jump Ride Swim Dance March Plank Throw",
            make_category_column("intensity effort", "easy moderate hard extreme"),
            make_integer_column("energy", 40, 900),
            make_decimal_column("distance", 0, 25),
        ),
        make_event_entity(
            "session booking",
            make_category_column("slot", "morning noon evening night"),
            make_integer_column("duration", 10, 150),
            make_date_column("training_date"),
            make_decimal_column("price", 0, 40),
        ),
    ),
    Theme(
        make_place_entity(
            "depot garage", make_integer_column("bay_count", 5, 120), make_integer_column("mechanic_count", 1, 25)
        ),
        make_person_entity(
            "driver renter",
            make_category_column("licence", "car truck bus motorcycle"),
            make_integer_column("penalty_score", 0, 15),
            make_decimal_column("deposit", 0, 500),
            make_date_column("licence_date"),
        ),
        make_thing_entity(
            "vehicle machine",
            "Falcon Comet Badger Pioneer Ranger Breeze Titan Swift Nomad Beetle Arrow Otter",
            make_category_column("fuel", "petrol diesel electric hybrid"),
            make_integer_column("seat_count", 1, 50),
            make_decimal_column("daily_rate day_price", 15, 400),
        ),
        make_event_entity(
            "rental trip",
            make_category_column("purpose", "business holiday moving transport"),
            make_integer_column("distance", 5, 1500),
            make_date_column("start_date"),
            make_decimal_column("fuel_used", 1, 120),
        ),
    ),
    Theme(
        make_place_entity(
            "country state", make_integer_column("station_count", 2, 80), make_integer_column("festival_count", 0, 40)
        ),
        make_person_entity(
            "listener subscriber",
            make_category_column("subscription", "free family premium student"),
            make_integer_column("age", 12, 85),
            make_decimal_column("budget", 0, 80),
            make_date_column("signup_date"),
        ),
        make_thing_entity(
            "album record",
            "Echo Horizon Shadow Melody Rain Desert Mirror Planet Carnival Highway Sunrise Anthem",
            make_category_column("style", "jazz rock folk classical techno"),
            make_integer_column("track_count song_count", 4, 24),
            make_decimal_column("price", 5, 45),
        ),
        make_event_entity(
            "download sale",
            make_category_column("device", "phone tablet computer car"),
            make_integer_column("play_count", 1, 200),
            make_date_column("buying_date"),
            make_decimal_column("royalty", 0, 9),
        ),
    ),
    Theme(
        make_place_entity(
            "valley parish", make_integer_column("well_count", 1, 40), make_decimal_column("rainfall", 200, 1200)
        ),
        make_person_entity(
            "farmer grower",
            make_category_column("method", "organic conventional mixed"),
            make_integer_column("tractor_count", 0, 12),
            make_decimal_column("land", 2, 300),
            make_date_column("founding_date"),
        ),
        make_thing_entity(
            "crop plant",
            "Apple Barley Bean Cabbage Carrot Clover Corn Onion Pepper Potato Squash Wheat",
            make_category_column("season", "spring summer autumn winter"),
            make_integer_column("growing_time", 30, 240),
            make_decimal_column("price_per_kilo market_price", 1, 20),
        ),
        make_event_entity(
            "harvest delivery",
            make_category_column("quality", "poor fair good excellent"),
            make_integer_column("crate_count", 1, 400),
            make_date_column("picking_date"),
            make_decimal_column("moisture", 5, 40),
        ),
    ),
)
