"""Sorts numbers, texts and records, by the built-in sort and by one written here."""

import heapq

state = 99
numbers = []
for _ in range(60_000):
    state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
    numbers.append(state >> 40)
texts = sorted((f"{number:x}" for number in numbers), key=lambda text: (len(text), text[::-1]))
records = sorted(({"n": n, "r": n % 977} for n in numbers), key=lambda record: record["r"])


def merge_sort(items):
    if len(items) < 2:
        return items
    half = len(items) // 2
    left, right = merge_sort(items[:half]), merge_sort(items[half:])
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


heap = numbers[:20_000]
heapq.heapify(heap)
smallest = [heapq.heappop(heap) for _ in range(20_000)]
own = merge_sort(numbers[:30_000])
print(texts[0], records[-1]["r"], own == sorted(numbers[:30_000]), smallest == sorted(numbers[:20_000]))
