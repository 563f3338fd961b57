const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const two = (value: number): string => String(value).padStart(2, '0');

/** Python's `strftime` in UTC, which is the time zone of engines in containers, for the codes that templates use. */
export function pythonDate(now: number, format: string): string {
  const date = new Date(now);
  const month = months[date.getUTCMonth()] ?? '';
  const day = days[date.getUTCDay()] ?? '';
  const hour = date.getUTCHours();
  const codes: Readonly<Record<string, string>> = {
    Y: String(date.getUTCFullYear()),
    y: two(date.getUTCFullYear() % 100),
    m: two(date.getUTCMonth() + 1),
    d: two(date.getUTCDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: two(hour),
    I: two(hour % 12 === 0 ? 12 : hour % 12),
    p: hour < 12 ? 'AM' : 'PM',
    M: two(date.getUTCMinutes()),
    S: two(date.getUTCSeconds()),
    '%': '%',
  };
  return format.replaceAll(/%(.)/gu, (whole, code: string) => codes[code] ?? whole);
}
