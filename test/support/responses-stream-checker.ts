type Json = Readonly<Record<string, unknown>>;

/** An item as it stood when it was done. */
export type CheckedItem = Json & { readonly id: string; readonly type: string };

export interface CheckedResponse {
  readonly id: string;
  readonly model: string;
  readonly status: 'completed' | 'incomplete' | 'failed';
  readonly output: readonly CheckedItem[];
  readonly incomplete_details: unknown;
  readonly usage: Json | null;
  /** The error at the top of the last event. */
  readonly error?: Json;
  /** How many events of each type came. */
  readonly events: ReadonlyMap<string, number>;
}

/** What was told of a part, or of a call, before it was done. */
interface OpenText {
  readonly kind: string;
  text: string;
  isDone: boolean;
}

interface OpenItem {
  readonly start: CheckedItem;
  readonly texts: Map<number, OpenText>;
  done: CheckedItem | undefined;
}

// Not vitest's `expect`, which takes longer than the gateway to look at an event.
function check(holds: boolean, promise: string, shown: unknown): asserts holds {
  if (!holds) throw new Error(`${promise}: ${JSON.stringify(shown)?.slice(0, 500)}`);
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readFrame(frame: string): Json & { readonly type: string } {
  const [, name, data] = /^event: ([\w.]+)\ndata: (\{[^\r\n]*\})$/.exec(frame) ?? [];
  check(name !== undefined && data !== undefined, 'a frame is the name of an event and one line of JSON', frame);
  const event = JSON.parse(data) as unknown;
  check(isObject(event) && event['type'] === name, 'an event has the type of its name', frame);
  return { ...event, type: name };
}

/** The events that tell of a text: its delta, its end, and the field in which the end has it. */
const texts: Readonly<Record<string, readonly [kind: string, place: string, whole: string | undefined]>> = {
  'response.output_text.delta': ['output_text', 'content_index', undefined],
  'response.output_text.done': ['output_text', 'content_index', 'text'],
  'response.refusal.delta': ['refusal', 'content_index', undefined],
  'response.refusal.done': ['refusal', 'content_index', 'refusal'],
  'response.reasoning_text.delta': ['reasoning_text', 'content_index', undefined],
  'response.reasoning_text.done': ['reasoning_text', 'content_index', 'text'],
  'response.reasoning_summary_text.delta': ['summary_text', 'summary_index', undefined],
  'response.reasoning_summary_text.done': ['summary_text', 'summary_index', 'text'],
  'response.function_call_arguments.delta': ['function_call', '', undefined],
  'response.function_call_arguments.done': ['function_call', '', 'arguments'],
  'response.custom_tool_call_input.delta': ['custom_tool_call', '', undefined],
  'response.custom_tool_call_input.done': ['custom_tool_call', '', 'input'],
};

const prefixes: Readonly<Record<string, string>> = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  custom_tool_call: 'ctc_',
  web_search_call: 'ws_',
};

/** The texts of an item that is done, by their places. */
function textsOf(item: CheckedItem): readonly string[] {
  switch (item.type) {
    case 'message':
    case 'reasoning': {
      const parts = [...((item['summary'] ?? []) as readonly Json[]), ...((item['content'] ?? []) as readonly Json[])];
      return parts.map((part) => String(part['text'] ?? part['refusal']));
    }
    case 'function_call':
      return [String(item['arguments'])];
    case 'custom_tool_call':
      return [String(item['input'])];
    default:
      return [];
  }
}

const counts = ['input_tokens', 'output_tokens', 'total_tokens'];

function checkUsage(usage: unknown): asserts usage is Json {
  check(isObject(usage), 'an answer that is complete has usage', usage);
  for (const name of counts) check(Number.isInteger(usage[name]), `${name} is a count`, usage);
  check(Number(usage['input_tokens']) + Number(usage['output_tokens']) === usage['total_tokens'], 'the sum', usage);
  const details = [usage['input_tokens_details'], usage['output_tokens_details']];
  check(details.every(isObject), 'clients read both details', usage);
  check(typeof usage['cost'] === 'number', 'the usage has its cost', usage);
}

/**
 * Reads a responses stream as it came, without a client library. Throws when it lacks what every stream of this format promises
 * (docs/reference/responses.md): named events with dense numbers, the start first, items that are added, told of and done, texts that are what
 * their deltas add up to, and the whole response last.
 */
export function checkResponsesStream(stream: string): CheckedResponse {
  check(stream.endsWith('\n\n'), 'the last frame ends in a blank line', stream.slice(-200));
  const events = new Map<string, number>();
  const items: OpenItem[] = [];
  let identity: Json | undefined;
  let last: Json | undefined;
  let number = 0;

  function itemAt(event: Json): OpenItem {
    const item = items[Number(event['output_index'])];
    check(item !== undefined && item.done === undefined, 'an event belongs to an open item', event);
    check(event['item_id'] === undefined || event['item_id'] === item.start.id, 'an event names its item', event);
    return item;
  }

  function begin(event: Json): void {
    const { output_index: index, item } = event;
    check(index === items.length, 'items are numbered densely', event);
    check(isObject(item) && typeof item['id'] === 'string', 'an item has an id', event);
    const start = item as CheckedItem;
    check(start.id.startsWith(prefixes[start.type] ?? '?'), 'an item has an id of its kind', item);
    check(!items.some((one) => one.start.id === start.id), 'no two items have one id', item);
    check(start['status'] === 'in_progress', 'an item is in progress when it begins', item);
    check(textsOf(start).join('') === '', 'an item begins empty', item);
    items.push({ start, texts: new Map(), done: undefined });
  }

  function tell(event: Json & { readonly type: string }): void {
    const [kind, place, whole] = texts[event.type] ?? [];
    check(kind !== undefined && place !== undefined, `there is no event ${event.type}`, event);
    const item = itemAt(event);
    const at = place === '' ? 0 : Number(event[place]);
    const text = item.texts.get(at) ?? { kind, text: '', isDone: false };
    item.texts.set(at, text);
    check(text.kind === kind && !text.isDone, 'a text is of one kind, and is done once', event);
    if (whole === undefined) {
      check(typeof event['delta'] === 'string' && event['delta'] !== '', 'a delta carries text', event);
      text.text += event['delta'];
      return;
    }
    check(event[whole] === text.text, 'a text is what its deltas add up to', [event, text]);
    text.isDone = true;
  }

  function end(event: Json): void {
    const item = itemAt(event);
    const done = event['item'] as CheckedItem;
    check(isObject(done) && done.id === item.start.id && done.type === item.start.type, 'an item stays itself', event);
    const told = [...item.texts].sort(([a], [b]) => a - b).map(([, text]) => text);
    check(
      told.every(({ isDone }) => isDone),
      'all texts of an item are done',
      told,
    );
    const said = told.map(({ text }) => text);
    check(JSON.stringify(textsOf(done)) === JSON.stringify(said), 'an item has the texts that were told', [done, said]);
    item.done = done;
  }

  for (const frame of stream.slice(0, -2).split('\n\n')) {
    const event = readFrame(frame);
    const { type } = event;
    events.set(type, (events.get(type) ?? 0) + 1);
    check(event['sequence_number'] === number, 'events are numbered densely', event);
    number += 1;
    check(last === undefined, 'nothing follows the end', event);
    const starts = ['response.created', 'response.in_progress'];
    check(number > 2 || type === starts[number - 1], 'the stream begins with its two starts', event);
    check(number === 1 || type !== 'response.created', 'the stream is created once', event);
    switch (type) {
      case 'response.created':
      case 'response.in_progress': {
        const response = event['response'] as Json;
        check(response['status'] === 'in_progress' && response['usage'] === null, 'it has just begun', event);
        check(identity === undefined || identity['id'] === response['id'], 'it has one id', event);
        identity = response;
        break;
      }
      case 'response.output_item.added':
        begin(event);
        break;
      case 'response.output_item.done':
        end(event);
        break;
      case 'response.content_part.added':
      case 'response.content_part.done':
      case 'response.reasoning_summary_part.added':
      case 'response.reasoning_summary_part.done':
      case 'response.output_text.annotation.added':
      case 'response.web_search_call.in_progress':
      case 'response.web_search_call.searching':
      case 'response.web_search_call.completed':
        itemAt(event);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        last = event;
        break;
      default:
        tell(event);
    }
  }
  check(last !== undefined && identity !== undefined, 'the stream ends with the whole response', stream.slice(-300));
  const response = last['response'] as Json;
  const { id, model, status, output, usage } = response;
  check(id === identity['id'] && model === identity['model'], 'the end has the identity of the start', response);
  check(last['type'] === `response.${String(status)}`, 'the last event is named by the status', last);
  const done = items.map((item) => item.done);
  check(JSON.stringify(output) === JSON.stringify(done), 'the response has the items that were done', [output, done]);
  const { error } = last as { readonly error?: Json };
  if (status === 'failed') check(isObject(error) && isObject(response['error']), 'a failure says what it is', last);
  else checkUsage(usage);
  return {
    ...(response as unknown as Omit<CheckedResponse, 'events' | 'error'>),
    ...{ usage: (usage ?? null) as Json | null, events },
    ...(error === undefined ? {} : { error }),
  };
}
