type Json = Readonly<Record<string, unknown>>;

/** A content block as it stood when it was closed. */
export type CheckedBlock = Json & { readonly type: string };

export interface CheckedStream {
  readonly id: string;
  readonly model: string;
  /** As an answer in one piece has them. */
  readonly content: readonly CheckedBlock[];
  /** `whole`: it ended in `message_stop`. `error`: in an `error` event, with its last block perhaps open. */
  readonly ending: 'whole' | 'error';
  readonly stop_reason: string | null;
  readonly stop_sequence: string | null;
  readonly usage: Json;
  /** The error object of the last event. */
  readonly error?: Json;
  /** How many events of each name came. */
  readonly events: ReadonlyMap<string, number>;
}

interface OpenBlock {
  readonly index: number;
  readonly type: string;
  readonly fields: Record<string, unknown>;
  /** Of a call. */
  json: string;
  isSigned: boolean;
  hasText: boolean;
}

const deltasOf: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  // Whole in its start.
  web_search_tool_result: [],
};

const stopReasons = new Set(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']);
const counts = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'];

// Not vitest's `expect`, which takes longer than the gateway to look at an event.
function check(holds: boolean, promise: string, shown: unknown): asserts holds {
  if (!holds) throw new Error(`${promise}: ${JSON.stringify(shown)?.slice(0, 500)}`);
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function readFrame(frame: string): Json & { readonly type: string } {
  const [, name, data] = /^event: (\w+)\ndata: (\{[^\r\n]*\})$/.exec(frame) ?? [];
  check(name !== undefined && data !== undefined, 'a frame is the name of an event and one line of JSON', frame);
  const event = parsed(data);
  check(isObject(event) && event['type'] === name, 'an event has the type of its name', frame);
  return { ...event, type: name };
}

const totalIn = (usage: Json): number => counts.slice(0, 3).reduce((sum, name) => sum + Number(usage[name] ?? 0), 0);

function checkUsage(usage: unknown, which: string): asserts usage is Json {
  check(isObject(usage), `${which} has usage`, usage);
  for (const name of counts) {
    check(Number.isInteger(usage[name]) && Number(usage[name]) >= 0, `${name} of ${which} is a count`, usage);
  }
}

/**
 * Reads a messages stream as it came, without a client library, and puts the message together. Throws when it lacks what every
 * stream of this format promises (docs/reference/engines.md §2): named events, one `message_start` before all else, blocks that are opened, filled
 * with deltas of their own type and closed one after the other, usage that never shrinks, one `message_delta`, `message_stop` last.
 */
export function checkMessagesStream(stream: string): CheckedStream {
  check(stream.endsWith('\n\n'), 'the last frame ends in a blank line', stream.slice(-200));
  const content: CheckedBlock[] = [];
  const events = new Map<string, number>();
  let message: Json | undefined;
  let identity = { id: '', model: '' };
  let open: OpenBlock | undefined;
  let ending: CheckedStream['ending'] | undefined;
  let delta: Json | undefined;
  let usage: Json = {};
  let error: Json | undefined;
  /** A call whose arguments the output cap has cut. */
  let isCut = false;
  let followsCut = false;
  /** Calls without a word of arguments: complete, unless the stream breaks off. */
  const wordless: Record<string, unknown>[] = [];

  function begin(event: Json): void {
    check(message === undefined, 'there is one message_start', event);
    check(isObject(event['message']), 'it holds the message', event);
    ({ message } = event as { message: Json });
    const { id, type, role, model, content: empty, stop_reason: reason, stop_sequence: sequence } = message;
    check(typeof id === 'string' && /^msg_[\w-]+$/.test(id), 'the message has an id', message);
    check(typeof model === 'string' && model !== '', 'the message names its model', message);
    identity = { id, model };
    check(type === 'message' && role === 'assistant', 'it is a message of the assistant', message);
    check(Array.isArray(empty) && empty.length === 0, 'it begins without content', message);
    check(reason === null && sequence === null, 'it has not stopped when it starts', message);
    checkUsage(message['usage'], 'message_start');
    ({ usage } = message as { usage: Json });
  }

  function openBlock({ index, content_block: block }: Json): void {
    check(open === undefined, 'a block is closed before the next one opens', { index, open });
    check(index === content.length, 'blocks are numbered densely', { index, after: content.length });
    check(isObject(block) && typeof block['type'] === 'string', 'a block has a type', block);
    const { type, ...fields } = block as Json & { readonly type: string };
    check(type in deltasOf, 'the type of a block is known', block);
    followsCut ||= isCut;
    const empty: Readonly<Record<string, Json>> = {
      text: { text: '' },
      thinking: { thinking: '', signature: '' },
      tool_use: { input: {} },
      server_tool_use: { input: {} },
    };
    for (const [name, value] of Object.entries(empty[type] ?? {})) {
      check(JSON.stringify(fields[name]) === JSON.stringify(value), 'a block begins empty', block);
    }
    if (type === 'tool_use' || type === 'server_tool_use') {
      const prefix = type === 'tool_use' ? 'toolu_' : 'srvtoolu_';
      check(String(fields['id']).startsWith(prefix), `the id of a call begins with ${prefix}`, block);
      check(typeof fields['name'] === 'string' && fields['name'] !== '', 'a call has a name', block);
    }
    if (type === 'web_search_tool_result') {
      check(fields['content'] !== undefined && fields['tool_use_id'] !== undefined, 'a result is whole', block);
    }
    open = { index: content.length, type, fields: { type, ...fields }, json: '', isSigned: false, hasText: false };
  }

  function fill({ index, delta: piece }: Json): void {
    check(open !== undefined && open.index === index, 'a delta belongs to the open block', { index, piece });
    check(isObject(piece), 'a delta is an object', piece);
    const { type } = piece;
    check(
      deltasOf[open.type]?.includes(String(type)) === true,
      `a delta has the type of its ${open.type} block`,
      piece,
    );
    check(!open.isSigned, 'nothing follows the signature in its block', piece);
    const add = (field: string, text: unknown): void => {
      check(typeof text === 'string', 'a delta carries text', piece);
      if (open !== undefined) open.fields[field] = String(open.fields[field]) + text;
    };
    switch (type) {
      case 'text_delta':
        open.hasText = true;
        add('text', piece['text']);
        return;
      case 'thinking_delta':
        add('thinking', piece['thinking']);
        return;
      case 'signature_delta':
        check(typeof piece['signature'] === 'string' && piece['signature'] !== '', 'a signature is a text', piece);
        open.isSigned = true;
        open.fields['signature'] = piece['signature'];
        return;
      case 'citations_delta':
        check(!open.hasText, 'citations come before the text that they support', piece);
        open.fields['citations'] = [...((open.fields['citations'] ?? []) as readonly unknown[]), piece['citation']];
        return;
      default:
        check(typeof piece['partial_json'] === 'string', 'a delta carries JSON text', piece);
        open.json += piece['partial_json'];
    }
  }

  function close({ index }: Json): void {
    check(open !== undefined && open.index === index, 'the block that is closed is the open one', { index, open });
    const { type, fields, json, isSigned } = open;
    check(type !== 'thinking' || isSigned, 'a block of thinking is signed', fields);
    if (type === 'tool_use' || type === 'server_tool_use') {
      const input = json === '' ? {} : parsed(json);
      const isWhole = isObject(input);
      isCut ||= !isWhole;
      if (json === '') wordless.push(fields);
      fields['input'] = isWhole ? input : { cut: json };
    }
    content.push(fields as CheckedBlock);
    open = undefined;
  }

  function total({ delta: last, usage: counted }: Json): void {
    check(open === undefined, 'all blocks are closed before message_delta', open);
    check(delta === undefined, 'there is one message_delta', last);
    check(isObject(last), 'it says how the message ended', last);
    const { stop_reason: reason, stop_sequence: sequence } = last;
    check(stopReasons.has(String(reason)), 'the stop reason is known', last);
    check(
      (typeof sequence === 'string') === (reason === 'stop_sequence'),
      'a stop sequence is named where it was one',
      last,
    );
    const hasCalled = content.some(({ type }) => type === 'tool_use');
    check(reason !== 'tool_use' || hasCalled, 'it ends in tool_use only with a call', last);
    check(reason !== 'end_turn' || !hasCalled, 'with a call it ends in tool_use', last);
    // Only what breaks off may leave more than one call behind that is not whole.
    check(!followsCut, 'nothing follows a call that was cut', content);
    check(!isCut || reason === 'max_tokens', 'the arguments of a call are a JSON object', content.at(-1));
    checkUsage(counted, 'message_delta');
    check(totalIn(counted) >= totalIn(usage), 'the input never shrinks', { before: usage, after: counted });
    const before = Number(usage['output_tokens']);
    check(Number(counted['output_tokens']) >= before, 'the output never shrinks', { before: usage, after: counted });
    check(typeof counted['cost'] === 'number', 'the usage has its cost', counted);
    delta = last;
    usage = counted;
  }

  for (const frame of stream.slice(0, -2).split('\n\n')) {
    const event = readFrame(frame);
    const { type } = event;
    events.set(type, (events.get(type) ?? 0) + 1);
    check(ending === undefined, 'nothing follows the end', event);
    check(message !== undefined || type === 'message_start' || type === 'error', 'message_start comes first', event);
    check(
      delta === undefined || type === 'message_stop' || type === 'ping',
      'only the end follows message_delta',
      event,
    );
    switch (type) {
      case 'message_start':
        begin(event);
        break;
      case 'content_block_start':
        openBlock(event);
        break;
      case 'content_block_delta':
        fill(event);
        break;
      case 'content_block_stop':
        close(event);
        break;
      case 'message_delta':
        total(event);
        break;
      case 'message_stop':
        check(delta !== undefined, 'message_delta comes before message_stop', event);
        ending = 'whole';
        break;
      case 'ping':
        check(Object.keys(event).length === 1, 'a ping says nothing', event);
        break;
      case 'error':
        check(isObject(event['error']), 'an error says what it is', event);
        ({ error } = event as unknown as { error: Json });
        check(typeof error['type'] === 'string' && typeof error['message'] === 'string', 'an error has a type', error);
        ending = 'error';
        break;
      default:
        throw new Error(`there is no event ${type}`);
    }
  }
  check(ending !== undefined, 'the stream ends in message_stop or an error', stream.slice(-300));
  if (ending === 'error') for (const fields of wordless) fields['input'] = { cut: '' };
  if (open !== undefined) {
    const { type, fields, json } = open;
    content.push({
      ...fields,
      type,
      ...(type === 'tool_use' || type === 'server_tool_use' ? { input: { cut: json } } : {}),
    });
  }
  return {
    ...{ id: identity.id, model: identity.model, content, ending, usage, events },
    stop_reason: (delta?.['stop_reason'] ?? null) as string | null,
    stop_sequence: (delta?.['stop_sequence'] ?? null) as string | null,
    ...(error === undefined ? {} : { error }),
  };
}
