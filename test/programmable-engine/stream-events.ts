import { arrayOr, type JsonObject, objectOr, parsedOr } from './json-value.ts';

/** The `data` of every complete event of a stream, as the rules for event streams say. */
export function eventData(stream: string): readonly string[] {
  const events: string[] = [];
  let lines: string[] = [];
  for (const line of stream.split(/\r\n|\n|\r/u)) {
    if (line === '') {
      if (lines.length > 0) events.push(lines.join('\n'));
      lines = [];
    } else if (line.startsWith('data:')) {
      lines.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }
  return events;
}

/** The JSON events of a stream; lines that are no JSON and `[DONE]` are left out. */
export function eventJson(stream: string): readonly JsonObject[] {
  return eventData(stream).flatMap((data) => {
    const value = parsedOr(data);
    return typeof value === 'string' ? [] : [objectOr(value)];
  });
}

/** All text that a stream's deltas give one field of a choice. */
export function joinedField(stream: string, field: string, choice = 0): string {
  return eventJson(stream)
    .flatMap((chunk) => arrayOr(chunk['choices']).map(objectOr))
    .filter((one) => one['index'] === choice)
    .map((one) => objectOr(one['delta'])[field])
    .filter((text) => typeof text === 'string')
    .join('');
}
