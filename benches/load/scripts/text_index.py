"""Builds an index of words: strings, dictionaries, sets and joining."""

syllables = "ka ro mi te su no la ven dor il ash por".split()
words = [
    syllables[n % 12] + syllables[n // 12 % 12] + syllables[n * 7 % 11] for n in range(400)
]
index = {}
state = 12345
for page in range(2_000):
    line = []
    for _ in range(120):
        state = (state * 1103515245 + 12345) % 2147483648
        line.append(words[state >> 8 & 0xFF])
    text = " ".join(line).title()
    for place, word in enumerate(text.lower().split()):
        index.setdefault(word, {}).setdefault(page, []).append(place)
common = {word for word, pages in index.items() if len(pages) > 100}
report = "".join(f"{word}:{sum(map(len, index[word].values()))};" for word in sorted(index))
print(len(index), len(common), len(report), report[:40])
