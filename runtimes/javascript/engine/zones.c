/* Time zones. libc on WASI knows none but UTC, so the engine carries the world's: `zones.h` is made from the `tzdata`
 * package by build/zones.mjs, which says where the names come from. The tables are constant and untouched in a run that asks
 * for no local time; the run's own zone is looked up when it is first asked for. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wasi/api.h>

#include "engine.h"

/* Seconds east of Greenwich, and the numbers of three names: what `Date` says, long, short. 0: the offset is the name. */
struct zone_type {
    int32_t offset;
    uint16_t names[3];
};

/* The second offset holds from the first day to the second: month, week (5 is the last), weekday, seconds. */
struct zone_rule {
    uint16_t types[2];
    struct { int32_t month, week, weekday, seconds; } days[2];
};

struct zone {
    uint32_t first;
    uint16_t count;
    int16_t rule;
    uint16_t generic[2];
};

struct zone_name {
    const char *name;
    uint16_t zone, usual;
    bool listed;
};

#include "zones.h"

/* Numbers of names, or what `TZ` holds otherwise: Node takes what is no name for UTC, and a name that nobody knows for
 * a zone without one. */
enum { ZONE_UNKNOWN = -1, ZONE_NOT_LOOKED_UP = -2 };
enum { NAME_COUNT = sizeof zone_names / sizeof *zone_names };
static const struct zone_type unknown_type;
static int local_zone = ZONE_NOT_LOOKED_UP;

static int zone_find(const char *name, bool any_case)
{
    for (int i = 0; i < NAME_COUNT; i++)
        if (!(any_case ? strcasecmp : strcmp)(zone_names[i].name, name))
            return i;
    return ZONE_UNKNOWN;
}

/* Letters, then at most two digits, is a name: `CET-1CEST` is none. */
static bool is_zone_name(const char *text)
{
    size_t letters = strcspn(text, "0123456789,"), digits = strspn(text + letters, "0123456789");
    return digits <= 2 && !text[letters + digits];
}

static int zone_of_variable(const char *value)
{
    if (!value)
        return zone_find("UTC", false);
    if (*value == ':')
        value++;
    if (!strncmp(value, "posix/", 6))
        value += 6;
    int found = zone_find(value, false);
    return found == ZONE_UNKNOWN && !is_zone_name(value) ? zone_find("UTC", false) : found;
}

static int local(void)
{
    if (local_zone != ZONE_NOT_LOOKED_UP)
        return local_zone;
    const char *value = NULL;
    __wasi_size_t count, size;
    uint8_t **entries = NULL, *bytes = NULL;
    if (!__wasi_environ_sizes_get(&count, &size) && count > 0) {
        entries = memory_allocate((count + 1) * sizeof *entries);
        bytes = memory_allocate(size + 1);
        if (entries && bytes && !__wasi_environ_get(entries, bytes))
            for (size_t i = 0; i < count; i++)
                if (!strncmp((const char *)entries[i], "TZ=", 3))
                    value = (const char *)entries[i] + 3;
    }
    local_zone = zone_of_variable(value);
    memory_free(entries);
    memory_free(bytes);
    return local_zone;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Days since 1970 of a day in the proleptic Gregorian calendar; months count from 1. */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = floor_div(year, 400), in_era = year - era * 400;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

static int64_t year_of(int64_t seconds)
{
    int64_t days = floor_div(seconds, 86400);
    int64_t year = 1970 + floor_div(days * 400, 146097);
    while (days_of(year + 1, 1, 1) <= days)
        year++;
    while (days_of(year, 1, 1) > days)
        year--;
    return year;
}

/* When the rule's day begins its part of the year, in the clock's own seconds. */
static int64_t rule_time(const struct zone_rule *rule, int which, int64_t year)
{
    int month = rule->days[which].month;
    int64_t first = days_of(year, month, 1);
    int64_t next = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
    int64_t weekday = ((first + 4) % 7 + 7) % 7;
    int64_t day = first + (rule->days[which].weekday - weekday + 7) % 7 + 7 * (rule->days[which].week - 1);
    while (day >= next)
        day -= 7;
    return day * 86400 + rule->days[which].seconds;
}

static const struct zone_type *ruled_type(const struct zone_rule *rule, int64_t seconds)
{
    const struct zone_type *usual = &zone_types[rule->types[0]], *other = &zone_types[rule->types[1]];
    int64_t year = year_of(seconds + usual->offset);
    int64_t begin = rule_time(rule, 0, year) - usual->offset, end = rule_time(rule, 1, year) - other->offset;
    bool is_other = begin < end ? seconds >= begin && seconds < end : seconds >= begin || seconds < end;
    return is_other ? other : usual;
}

static const struct zone_type *type_at(int name, int64_t seconds)
{
    if (name < 0 || name >= NAME_COUNT)
        return &unknown_type;
    const struct zone *zone = &zones[zone_names[name].zone];
    const int64_t *starts = zone_starts + zone->first;
    size_t low = 0, high = zone->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (starts[middle] <= seconds)
            low = middle;
        else
            high = middle;
    }
    if (zone->rule >= 0 && low == zone->count - 1u)
        return ruled_type(&zone_rules[zone->rule], seconds);
    return &zone_types[zone_kinds[zone->first + low]];
}

int32_t local_offset(int64_t milliseconds)
{
    return type_at(local(), floor_div(milliseconds, 1000))->offset;
}

/* A time that the clocks show twice is the first one; one that they leave out is told as if they had not moved yet. */
int32_t local_offset_of_wall(int64_t milliseconds)
{
    int name = local();
    int64_t seconds = floor_div(milliseconds, 1000);
    int32_t before = type_at(name, seconds - 86400)->offset, after = type_at(name, seconds + 86400)->offset;
    if (before == after || type_at(name, seconds - before)->offset == before)
        return before;
    return type_at(name, seconds - after)->offset == after ? after : before;
}

static JSValue text_of(JSContext *ctx, uint16_t number)
{
    return number ? JS_NewString(ctx, zone_texts[number]) : JS_UNDEFINED;
}

/* setZone(value of TZ, or undefined) */
static BINDING(zone_set)
{
    const char *value = JS_IsUndefined(argv[0]) ? NULL : JS_ToCString(ctx, argv[0]);
    if (!value && !JS_IsUndefined(argv[0]))
        return JS_EXCEPTION;
    local_zone = zone_of_variable(value);
    JS_FreeCString(ctx, value);
    return JS_UNDEFINED;
}

/* findZone(name) → its number, negative if nobody knows it; the local zone without a name. */
static BINDING(zone_number)
{
    if (JS_IsUndefined(argv[0]))
        return JS_NewInt32(ctx, local());
    size_t length;
    const char *name = JS_ToCStringLen(ctx, &length, argv[0]);
    if (!name)
        return JS_EXCEPTION;
    int found = strlen(name) == length ? zone_find(name, true) : ZONE_UNKNOWN;
    JS_FreeCString(ctx, name);
    return JS_NewInt32(ctx, found);
}

/* zoneAt(number, milliseconds) → [seconds east, name that Date says, long name, short name] */
static BINDING(zone_at)
{
    int32_t number;
    int64_t milliseconds;
    if (JS_ToInt32(ctx, &number, argv[0]) || JS_ToInt64(ctx, &milliseconds, argv[1]))
        return JS_EXCEPTION;
    const struct zone_type *type = type_at(number, floor_div(milliseconds, 1000));
    JSValue found[] = {
        JS_NewInt32(ctx, type->offset),
        text_of(ctx, type->names[0]),
        text_of(ctx, type->names[1]),
        text_of(ctx, type->names[2]),
    };
    return JS_NewArrayFrom(ctx, 4, found);
}

/* zoneNames(number) → [usual name, long name for the whole year, short one] */
static BINDING(zone_names_of)
{
    int32_t number;
    if (JS_ToInt32(ctx, &number, argv[0]))
        return JS_EXCEPTION;
    if (number < 0 || number >= NAME_COUNT)
        return JS_NewArray(ctx);
    const struct zone_name *name = &zone_names[number];
    JSValue found[] = {
        text_of(ctx, name->usual),
        text_of(ctx, zones[name->zone].generic[0]),
        text_of(ctx, zones[name->zone].generic[1]),
    };
    return JS_NewArrayFrom(ctx, 3, found);
}

/* The usual names of all zones. */
static BINDING(zone_list)
{
    JSValue list = JS_NewArray(ctx);
    uint32_t count = 0;
    for (int i = 0; i < NAME_COUNT && !JS_IsException(list); i++)
        if (zone_names[i].listed && JS_SetPropertyUint32(ctx, list, count++, JS_NewString(ctx, zone_names[i].name)) < 0) {
            JS_FreeValue(ctx, list);
            list = JS_EXCEPTION;
        }
    return list;
}

const JSCFunctionListEntry zone_functions[] = {
    JS_CFUNC_DEF("setZone", 1, zone_set),
    JS_CFUNC_DEF("findZone", 1, zone_number),
    JS_CFUNC_DEF("zoneAt", 2, zone_at),
    JS_CFUNC_DEF("zoneNames", 1, zone_names_of),
    JS_CFUNC_DEF("zoneList", 0, zone_list),
};
const int zone_function_count = sizeof zone_functions / sizeof *zone_functions;
