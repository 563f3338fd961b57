import type { AnswerEvent } from '../../core/event.ts';
import { isObject, type JsonObject, parseJson, textOf } from '../json.ts';
import { createJsonEnd, type JsonEnd } from '../json-end.ts';

/** No model calls more tools in one answer. */
const maxCalls = 1024;

/** A call as it is being put together. */
interface Call {
  readonly tool: number;
  /** The engine's id, once it has said one. */
  upstreamId: string | undefined;
  name: string;
  arguments: string;
  /** Whether `tool-start` has been sent; its name is final then. */
  started: boolean;
  readonly end: JsonEnd;
  /** Of the arguments, what was not yet looked at for their end. */
  fresh: string;
  /** Whether the arguments are an object and nothing else; undefined while their end has not come. */
  whole: boolean | undefined;
}

export interface ToolRepair {
  /** Reads the `tool_calls` of one delta, or of a message, where each is a call of its own. */
  readonly push: (fragments: readonly unknown[], form: 'pieces' | 'whole') => readonly AnswerEvent[];
  /** The choice has ended. Undefined when a call never got a name, or there are absurdly many: it is of no use then. */
  readonly end: () => readonly AnswerEvent[] | undefined;
  readonly calledTools: () => boolean;
  /** Whether there are calls and the arguments of each are whole. */
  readonly isWhole: () => boolean;
}

/** Arguments are always text: some engines send the object itself, or null for nothing. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** What a fragment says, as far as it says it. */
interface Fragment {
  readonly id: string | undefined;
  readonly index: number | undefined;
  readonly name: string | undefined;
  /** Of the arguments. */
  readonly text: string;
}

function readFragment(fragment: JsonObject): Fragment {
  const described = isObject(fragment['function']) ? fragment['function'] : fragment;
  return {
    id: textOf(fragment['id']),
    index: Number.isInteger(fragment['index']) ? Number(fragment['index']) : undefined,
    name: textOf(described['name']),
    text: argumentsOf(described['arguments']),
  };
}

/**
 * Puts the fragments of streamed tool calls right: dense 0-based indices in order of first appearance, one id of our
 * own and one name per call, arguments always text. Engines leave out, repeat, restart and mix up every one of these;
 * the corpus is in the golden tests.
 *
 * A fragment belongs to the call with its id; else to the call last seen at its index; else to the latest call.
 * It opens a new call when its id is new, when its name is another tool's, or when the call it would belong to has
 * complete arguments and the name comes again.
 */
export function createToolRepair(options: {
  readonly choice: number;
  /** Names the caller offered: they tell a name in two pieces from two names. */
  readonly toolNames: ReadonlySet<string>;
  readonly newId: (tool: number) => string;
}): ToolRepair {
  const { choice, toolNames } = options;
  const calls: Call[] = [];
  const byId = new Map<string, Call>();
  const byIndex = new Map<number, Call>();

  let tooMany = false;

  /** Each piece is looked at once, and parsed is what seems whole: parsing all at every piece would take the square of it. */
  const isComplete = (call: Call): boolean => {
    const { fresh } = call;
    call.fresh = '';
    if (call.whole === undefined) {
      call.end.push(fresh);
      if (call.end.isOver()) call.whole = isObject(parseJson(call.arguments));
    } else if (fresh.trim() !== '') call.whole = false;
    return call.whole === true;
  };

  /** Whether `name` may only be the next piece of the name so far. */
  const continuesName = (call: Call, name: string): boolean => {
    if (call.started || call.name === '') return !call.started;
    const joined = call.name + name;
    for (const known of toolNames) if (known.startsWith(joined)) return true;
    return false;
  };

  const opensAnother = (call: Call, id: string | undefined, name: string | undefined): boolean => {
    if (id !== undefined && call.upstreamId !== undefined && call.upstreamId !== id) return true;
    if (name === undefined || name === '' || call.name === '') return false;
    return name === call.name ? isComplete(call) && id === undefined : !continuesName(call, name);
  };

  function open(): Call {
    const call: Call = {
      ...{ tool: calls.length, upstreamId: undefined, name: '', arguments: '', started: false },
      ...{ end: createJsonEnd(), fresh: '', whole: undefined },
    };
    calls.push(call);
    tooMany = calls.length > maxCalls;
    return call;
  }

  function find({ id, index, name, text }: Fragment): Call {
    const known = id === undefined ? undefined : byId.get(id);
    if (known !== undefined) {
      // One id for two calls: another index, and another name or a first call that already has its arguments.
      const elsewhere = index === undefined ? text !== '' : byIndex.get(index) !== known;
      if (!elsewhere || name === undefined) return known;
      return isComplete(known) || (name !== known.name && !continuesName(known, name)) ? open() : known;
    }
    const slot = index === undefined ? undefined : byIndex.get(index);
    const latest = calls.at(-1);
    const candidate = slot ?? (index === undefined || (id === undefined && name === undefined) ? latest : undefined);
    return candidate === undefined || opensAnother(candidate, id, name) ? open() : candidate;
  }

  /** Whether no further piece of the name can come. */
  const nameIsFinal = (call: Call): boolean => {
    if (!toolNames.has(call.name)) return false;
    for (const known of toolNames) if (known !== call.name && known.startsWith(call.name)) return false;
    return true;
  };

  function start(call: Call, events: AnswerEvent[]): void {
    if (call.started || call.name === '') return;
    call.started = true;
    events.push({ type: 'tool-start', choice, tool: call.tool, id: options.newId(call.tool), name: call.name });
    if (call.arguments !== '') events.push({ type: 'tool-delta', choice, tool: call.tool, text: call.arguments });
  }

  function take(fragment: Fragment, form: 'pieces' | 'whole', events: AnswerEvent[]): void {
    const { id, index, name, text } = fragment;
    // Says nothing, and must not open a call that never gets a name.
    if (id === undefined && name === undefined && text === '') return;
    const call = form === 'whole' ? open() : find(fragment);
    if (id !== undefined) {
      call.upstreamId ??= id;
      byId.set(id, call);
    }
    if (index !== undefined) byIndex.set(index, call);
    if (name !== undefined && !call.started && name !== call.name) call.name += name;
    // A call that is open and waits only for its arguments is over when the next one begins.
    for (const earlier of calls) if (earlier.tool < call.tool) start(earlier, events);
    const wasStarted = call.started;
    call.arguments += text;
    call.fresh += text;
    if (text !== '' || nameIsFinal(call)) start(call, events);
    if (wasStarted && text !== '') events.push({ type: 'tool-delta', choice, tool: call.tool, text });
  }

  return {
    push: (fragments, form) => {
      const events: AnswerEvent[] = [];
      for (const fragment of fragments) {
        if (tooMany) break;
        if (isObject(fragment)) take(readFragment(fragment), form, events);
      }
      return events;
    },
    end: () => {
      if (tooMany) return undefined;
      const events: AnswerEvent[] = [];
      for (const call of calls) {
        if (call.name === '') return undefined;
        start(call, events);
        // A tool without arguments: clients parse the text, and nothing is not JSON.
        if (call.arguments === '') events.push({ type: 'tool-delta', choice, tool: call.tool, text: '{}' });
      }
      return events;
    },
    calledTools: () => calls.length > 0,
    isWhole: () => calls.length > 0 && !tooMany && calls.every((call) => call.arguments === '' || isComplete(call)),
  };
}
