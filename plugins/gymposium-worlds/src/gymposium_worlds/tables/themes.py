"""Themes of databases."""

from __future__ import annotations

from gymposium_worlds.tables.entities import Theme, category, date, decimal, event, integer, person, place, thing

THEMES = (
    Theme(
        place("branch store", integer("staff_count employee_count", 3, 60), decimal("floor_area", 80, 900)),
        person(
            "customer client buyer",
            category("plan membership", "basic silver gold platinum"),
            integer("age", 18, 90),
            decimal("credit balance", 0, 400),
            date("joining_date entry_date"),
        ),
        thing(
            "product article",
            "Lamp Chair Table Kettle Clock Mirror Basket Shelf Blanket Vase Stool Radio",
            category("department section", "kitchen garden office bedroom hall"),
            decimal("price list_price", 4, 300),
            integer("stock", 0, 250),
        ),
        event(
            "order purchase",
            category("channel", "web shop phone fair"),
            integer("quantity amount", 1, 12),
            date("order_date"),
            decimal("discount rebate", 0, 20),
        ),
    ),
    Theme(
        place("district quarter", integer("household_count", 200, 9000), integer("library_count", 1, 9)),
        person(
            "reader borrower",
            category("card card_type", "child student adult senior"),
            integer("age", 6, 95),
            decimal("debt", 0, 30),
            date("registration_date"),
        ),
        thing(
            "book volume",
            "River Harbour Winter Garden Letter Island Bridge Mountain Storm Mirror Journey Orchard",
            category("genre", "crime poetry history travel science"),
            integer("page_count length", 60, 900),
            decimal("price", 5, 60),
            integer("copy_count", 1, 14),
        ),
        event(
            "loan",
            category("desk", "main annex bus online"),
            integer("duration", 1, 42),
            date("lending_date due_date"),
            decimal("fee charge", 0, 12),
        ),
    ),
    Theme(
        place("campus hall", integer("room_count", 10, 140), integer("teacher_count", 5, 90)),
        person(
            "student pupil",
            category("stream track", "science arts sports music"),
            integer("grade", 5, 13),
            decimal("mark", 1, 6),
            date("birth_date birthday"),
        ),
        thing(
            "course lecture",
            "Algebra Chemistry Drama Economics Geometry Grammar Logic Painting Physics Rhetoric Statistics Theology",
            category("level", "introductory intermediate advanced"),
            integer("workload", 1, 12),
            decimal("material_fee fee", 0, 90),
        ),
        event(
            "enrolment registration",
            category("status", "active finished dropped waiting"),
            integer("score", 0, 100),
            date("enrolment_date"),
            decimal("attendance", 0, 60),
        ),
    ),
    Theme(
        place("ward unit", integer("bed_count", 8, 60), integer("nurse_count", 4, 40)),
        person(
            "patient",
            category("insurance insurer", "public private company mixed"),
            integer("age", 0, 99),
            decimal("weight", 20, 130),
            date("admission_date"),
        ),
        thing(
            "treatment therapy_plan",
            "Bandage Massage Exercise Scan Bath Vaccine Laser Plaster Diet Check Infusion Test",
            category("risk", "low medium high"),
            decimal("cost tariff", 10, 900),
            integer("duration", 5, 180),
        ),
        event(
            "appointment visit",
            category("outcome result", "cured better same referred"),
            integer("waiting_time", 0, 120),
            date("visiting_date"),
            decimal("copayment", 0, 50),
        ),
    ),
    Theme(
        place("club studio", integer("locker_count", 20, 300), integer("trainer_count", 2, 30)),
        person(
            "member athlete",
            category("team squad", "red blue green yellow"),
            integer("age", 14, 80),
            decimal("body_weight", 45, 120),
            date("joining_date"),
        ),
        thing(
            "workout drill",
            "Climb Sprint Row Stretch Lift Jump Ride Swim Dance March Plank Throw",
            category("intensity effort", "easy moderate hard extreme"),
            integer("energy", 40, 900),
            decimal("distance", 0, 25),
        ),
        event(
            "session booking",
            category("slot", "morning noon evening night"),
            integer("duration", 10, 150),
            date("training_date"),
            decimal("price", 0, 40),
        ),
    ),
    Theme(
        place("depot garage", integer("bay_count", 5, 120), integer("mechanic_count", 1, 25)),
        person(
            "driver renter",
            category("licence", "car truck bus motorcycle"),
            integer("penalty_score", 0, 15),
            decimal("deposit", 0, 500),
            date("licence_date"),
        ),
        thing(
            "vehicle machine",
            "Falcon Comet Badger Pioneer Ranger Breeze Titan Swift Nomad Beetle Arrow Otter",
            category("fuel", "petrol diesel electric hybrid"),
            integer("seat_count", 1, 50),
            decimal("daily_rate day_price", 15, 400),
        ),
        event(
            "rental trip",
            category("purpose", "business holiday moving transport"),
            integer("distance", 5, 1500),
            date("start_date"),
            decimal("fuel_used", 1, 120),
        ),
    ),
    Theme(
        place("country state", integer("station_count", 2, 80), integer("festival_count", 0, 40)),
        person(
            "listener subscriber",
            category("subscription", "free family premium student"),
            integer("age", 12, 85),
            decimal("budget", 0, 80),
            date("signup_date"),
        ),
        thing(
            "album record",
            "Echo Horizon Shadow Melody Rain Desert Mirror Planet Carnival Highway Sunrise Anthem",
            category("style", "jazz rock folk classical techno"),
            integer("track_count song_count", 4, 24),
            decimal("price", 5, 45),
        ),
        event(
            "download sale",
            category("device", "phone tablet computer car"),
            integer("play_count", 1, 200),
            date("buying_date"),
            decimal("royalty", 0, 9),
        ),
    ),
    Theme(
        place("valley parish", integer("well_count", 1, 40), decimal("rainfall", 200, 1200)),
        person(
            "farmer grower",
            category("method", "organic conventional mixed"),
            integer("tractor_count", 0, 12),
            decimal("land", 2, 300),
            date("founding_date"),
        ),
        thing(
            "crop plant",
            "Apple Barley Bean Cabbage Carrot Clover Corn Onion Pepper Potato Squash Wheat",
            category("season", "spring summer autumn winter"),
            integer("growing_time", 30, 240),
            decimal("price_per_kilo market_price", 1, 20),
        ),
        event(
            "harvest delivery",
            category("quality", "poor fair good excellent"),
            integer("crate_count", 1, 400),
            date("picking_date"),
            decimal("moisture", 5, 40),
        ),
    ),
)
