"""The signs that GitHub, Slack, MkDocs and others show for ":warning:" and the like."""

from __future__ import annotations

_NAMES = """
+1 👍 -1 👎 100 💯 airplane ✈️ alarm_clock ⏰ alien 👽 ambulance 🚑 anchor ⚓ angry 😠 apple 🍎
arrow_backward ◀️ arrow_down ⬇️ arrow_forward ▶️ arrow_heading_down ⤵️ arrow_left ⬅️
arrow_lower_right ↘️ arrow_right ➡️ arrow_up ⬆️ arrow_upper_right ↗️ arrows_clockwise 🔃
arrows_counterclockwise 🔄 art 🎨 astonished 😲 balloon 🎈 ballot_box_with_check ☑️
bangbang ‼️ bank 🏦 bar_chart 📊 battery 🔋 beer 🍺 beers 🍻 bell 🔔 bike 🚲 bird 🐦 birthday 🎂
black_circle ⚫ black_large_square ⬛ blue_book 📘 blue_heart 💙 blush 😊 bomb 💣 book 📖
bookmark 🔖 bookmark_tabs 📑 books 📚 boom 💥 bow 🙇 bowtie 🤵 briefcase 💼 broken_heart 💔 bug 🐛
building_construction 🏗️ bulb 💡 bullettrain_side 🚄 bus 🚌 cactus 🌵 cake 🍰 calendar 📆
camera 📷 car 🚗 card_file_box 🗃️ card_index 📇 cat 🐱 chart_with_downwards_trend 📉
chart_with_upwards_trend 📈 checkered_flag 🏁 chicken 🐔 children_crossing 🚸 clap 👏 clapper 🎬
clipboard 📋 closed_book 📕 closed_lock_with_key 🔐 cloud ☁️ coffee ☕ collision 💥 computer 💻
confetti_ball 🎊 confused 😕 construction 🚧 construction_worker 👷 cookie 🍪 cool 🆒
copyright ©️ credit_card 💳 crown 👑 cry 😢 crystal_ball 🔮 dart 🎯 dash 💨 date 📅
desktop_computer 🖥️ disappointed 😞 dizzy 💫 dog 🐶 dollar 💵 dolphin 🐬 dragon 🐉 droplet 💧
earth_africa 🌍 earth_americas 🌎 earth_asia 🌏 egg 🥚 electric_plug 🔌 email 📧 envelope ✉️
euro 💶 exclamation ❗ eyes 👀 facepalm 🤦 factory 🏭 fast_forward ⏩ file_cabinet 🗄️
file_folder 📁 fire 🔥 fire_engine 🚒 fireworks 🎆 fish 🐟 flashlight 🔦 floppy_disk 💾
fork_and_knife 🍴 four_leaf_clover 🍀 fox_face 🦊 frog 🐸 game_die 🎲 gear ⚙️ gem 💎 ghost 👻
gift 🎁 globe_with_meridians 🌐 goal_net 🥅 grapes 🍇 green_apple 🍏 green_book 📗 green_circle 🟢
green_heart 💚 grey_exclamation ❕ grey_question ❔ grin 😁 grinning 😀 hammer 🔨
hammer_and_wrench 🛠️ hand ✋ handshake 🤝 heart ❤️ heart_eyes 😍 heavy_check_mark ✔️
heavy_division_sign ➗ heavy_exclamation_mark ❗ heavy_minus_sign ➖ heavy_multiplication_x ✖️
heavy_plus_sign ➕ herb 🌿 hibiscus 🌺 hospital 🏥 hotel 🏨 hourglass ⌛ hourglass_flowing_sand ⏳
house 🏠 hugs 🤗 hushed 😯 inbox_tray 📥 incoming_envelope 📨 information_source ℹ️
interrobang ⁉️ iphone 📱 jack_o_lantern 🎃 joy 😂 key 🔑 keyboard ⌨️ label 🏷️ laptop 💻
large_blue_circle 🔵 large_orange_diamond 🔶 large_blue_diamond 🔷 laughing 😆 leaves 🍃 ledger 📒
left_right_arrow ↔️ lemon 🍋 link 🔗 lipstick 💄 lock 🔒 lock_with_ink_pen 🔏 loop ➿
loud_sound 🔊 loudspeaker 📢 mag 🔍 mag_right 🔎 mailbox 📫 man_technologist 👨‍💻 mega 📣
memo 📝 microphone 🎤 microscope 🔬 money_with_wings 💸 moneybag 💰 monocle_face 🧐 moon 🌔
movie_camera 🎥 muscle 💪 musical_note 🎵 mute 🔇 nerd_face 🤓 neutral_face 😐 new 🆕 newspaper 📰
no_bell 🔕 no_entry ⛔ no_entry_sign 🚫 notebook 📓 notes 🎶 nut_and_bolt 🔩 octocat 🐙 octopus 🐙
ok 🆗 ok_hand 👌 open_book 📖 open_file_folder 📂 open_mouth 😮 orange_book 📙 orange_circle 🟠
outbox_tray 📤 package 📦 page_facing_up 📄 page_with_curl 📃 paperclip 📎 partly_sunny ⛅
party_popper 🎉 passport_control 🛂 pencil 📝 pencil2 ✏️ penguin 🐧 pensive 😔 phone ☎️
pill 💊 pizza 🍕 point_down 👇 point_left 👈 point_right 👉 point_up ☝️ pray 🙏 printer 🖨️
purple_heart 💜 pushpin 📌 puzzle_piece 🧩 question ❓ rabbit 🐰 rage 😡 rainbow 🌈 raised_hand ✋
raised_hands 🙌 recycle ♻️ red_circle 🔴 registered ®️ relaxed ☺️ relieved 😌 repeat 🔁
rewind ⏪ robot 🤖 rocket 🚀 rofl 🤣 rose 🌹 rotating_light 🚨 rugby_football 🏉 runner 🏃
running 🏃 sandwich 🥪 satellite 📡 school 🏫 scissors ✂️ scream 😱 scroll 📜 seedling 🌱
see_no_evil 🙈 shield 🛡️ ship 🚢 shipit 🐿️ shower 🚿 shrug 🤷 skull 💀 sleeping 😴
slightly_smiling_face 🙂 slightly_frowning_face 🙁 smile 😄 smiley 😃 smirk 😏 snail 🐌 snake 🐍
snowflake ❄️ sob 😭 soccer ⚽ soon 🔜 sos 🆘 sound 🔉 sparkle ❇️ sparkler 🎇 sparkles ✨
sparkling_heart 💖 speak_no_evil 🙊 speech_balloon 💬 speedboat 🚤 squid 🦑 star ⭐ star2 🌟
stars 🌠 stethoscope 🩺 stop_sign 🛑 stopwatch ⏱️ stuck_out_tongue 😛 sun_with_face 🌞
sunflower 🌻 sunglasses 😎 sunny ☀️ sweat 😓 sweat_drops 💦 sweat_smile 😅 tada 🎉 taxi 🚕
tea 🍵 telephone ☎️ telescope 🔭 test_tube 🧪 thinking 🤔 thought_balloon 💭 thumbsdown 👎
thumbsup 👍 ticket 🎫 timer_clock ⏲️ tm ™️ tomato 🍅 toolbox 🧰 top 🔝 train 🚆
traffic_light 🚥 triangular_flag_on_post 🚩 triangular_ruler 📐 trophy 🏆 tropical_fish 🐠
truck 🚚 tulip 🌷 turtle 🐢 tv 📺 twisted_rightwards_arrows 🔀 two_hearts 💕 umbrella ☔
unamused 😒 unicorn 🦄 unlock 🔓 up 🆙 v ✌️ vertical_traffic_light 🚦 vibration_mode 📳
video_camera 📹 warning ⚠️ wastebasket 🗑️ watch ⌚ wave 👋 wavy_dash 〰️ weary 😩 whale 🐳
wheelchair ♿ white_check_mark ✅ white_circle ⚪ white_large_square ⬜ wind_chime 🎐 wink 😉
woman_technologist 👩‍💻 wood 🪵 world_map 🗺️ wrench 🔧 writing_hand ✍️ x ❌ yellow_circle 🟡
yellow_heart 💛 yum 😋 zap ⚡ zipper_mouth_face 🤐 zzz 💤 negative_squared_cross_mark ❎
heavy_dollar_sign 💲 one 1️⃣ two 2️⃣ three 3️⃣ four 4️⃣ five 5️⃣ six 6️⃣ seven 7️⃣
eight 8️⃣ nine 9️⃣ zero 0️⃣
"""
_PARTS = _NAMES.split()
EMOJI = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))
