import type { AnswerEvent } from '../../../core/event.ts';
import { isObject, type JsonObject, parseJson } from '../../../core/json.ts';
import { createJsonScan, type JsonScan } from '../../../core/json-scan.ts';
import { countOf, wordOf } from './read-field.ts';
import { textOfObject } from '../../../core/json-text.ts';
import { type EngineCall, mergeFields, opaqueFields } from './opaque-fields.ts';

/** Most tool calls in one answer: no model makes so many. */
const maxCalls = 1024;

/** Most characters of opaque fields in an id. Clients keep ids in columns and in logs, so longer fields go with the answer's. */
const maxInId = 8 * 1024;

interface ToolRepairOptions {
  readonly choice: number;
  /** The tools that the caller offered. They distinguish a name in two fragments from two names. */
  readonly toolNames: ReadonlySet<string>;
  readonly newId: (tool: number, call: EngineCall) => string;
}

interface Repair extends ToolRepairOptions {
  readonly calls: Call[];
  readonly byId: Map<string, Call>;
  readonly byIndex: Map<number, Call>;
  /** What the fragments that are being read amount to. */
  events: AnswerEvent[];
  tooMany: boolean;
}

/**
 * Repairs the fragments of streamed tool calls: dense 0-based indices in order of first appearance, one id of our own and one
 * name for each call, arguments always text. Engines leave out, repeat, restart and mix up all of these; the golden tests have
 * examples.
 *
 * A fragment belongs to the call with its id; else to the call last seen at its index; else to the latest call.
 * It opens a new call when its id is new, when its name is another tool's, or when its name is repeated after the call's arguments
 * are complete.
 */
export function createToolRepair(options: ToolRepairOptions) {
  const repair: Repair = { ...options, calls: [], byId: new Map(), byIndex: new Map(), events: [], tooMany: false };
  return {
    /** Reads the `tool_calls` of a delta or of a whole message. In a message, each fragment is a call. */
    push: (fragments: readonly JsonObject[], source: 'delta' | 'message'): readonly AnswerEvent[] => {
      repair.events = [];
      for (const fragment of fragments) {
        if (repair.tooMany) break;
        take(repair, readFragment(fragment, source), source);
      }
      return repair.events;
    },
    /** The choice has ended. Returns undefined when a call has no name or there are too many: the answer is of no use then. */
    end: (): readonly AnswerEvent[] | undefined => {
      if (repair.tooMany) return undefined;
      const { choice, calls } = repair;
      const events: AnswerEvent[] = [];
      repair.events = events;
      for (const call of calls) {
        if (call.name === '') return undefined;
        start(repair, call);
        // Clients parse the arguments, and an empty text is not JSON.
        if (call.arguments === '') events.push({ type: 'tool-delta', choice, tool: call.tool, text: '{}' });
      }
      return events;
    },
    /** By our ids, the calls with opaque fields that our ids could not take in. An id alone is not worth a token in the answer. */
    lateCalls: (): Readonly<Record<string, EngineCall>> =>
      Object.fromEntries(
        repair.calls
          .filter(({ fields, begunWith }) => fields !== begunWith?.fields)
          .map(({ id, upstreamId, fields }) => [id, { id: upstreamId, fields }]),
      ),
    calledTools: (): boolean => repair.calls.length > 0,
    /** Whether there are calls and the arguments of each are complete. */
    areComplete: (): boolean => {
      const { calls, tooMany } = repair;
      return calls.length > 0 && !tooMany && calls.every((call) => call.arguments === '' || isComplete(call));
    },
  };
}

/** Scans each piece of the arguments once, and parses them when they seem complete. Parsing all with every piece would take quadratic time. */
function isComplete(call: Call): boolean {
  const { unscanned } = call;
  call.unscanned = '';
  if (call.complete === undefined) {
    call.scan.push(unscanned);
    if (call.scan.isOver()) call.complete = isObject(parseJson(call.arguments));
  } else if (unscanned.trim() !== '') call.complete = false;
  return call.complete === true;
}

/** Whether `name` may be the next piece of the call's name. */
function continuesName(repair: Repair, call: Call, name: string): boolean {
  if (call.started || call.name === '') return !call.started;
  const joined = call.name + name;
  for (const known of repair.toolNames) if (known.startsWith(joined)) return true;
  return false;
}

function opensAnother(repair: Repair, call: Call, { id, name }: Fragment): boolean {
  if (id !== undefined && call.upstreamId !== undefined && call.upstreamId !== id) return true;
  if (name === undefined || name === '' || call.name === '') return false;
  return name === call.name ? isComplete(call) && id === undefined : !continuesName(repair, call, name);
}

function open(repair: Repair): Call {
  const call: Call = {
    tool: repair.calls.length,
    id: '',
    upstreamId: undefined,
    fields: undefined,
    begunWith: undefined,
    name: '',
    arguments: '',
    started: false,
    scan: createJsonScan(),
    unscanned: '',
    complete: undefined,
  };
  repair.calls.push(call);
  repair.tooMany = repair.calls.length > maxCalls;
  return call;
}

function find(repair: Repair, fragment: Fragment): Call {
  const { byId, byIndex, calls } = repair;
  const { id, index, name, text } = fragment;
  const known = id === undefined ? undefined : byId.get(id);
  if (known !== undefined) {
    // Some engines give two calls the same id. The second call has another index. It also has another name, or begins after
    // complete arguments.
    const elsewhere = index === undefined ? text !== '' : byIndex.get(index) !== known;
    if (!elsewhere || name === undefined) return known;
    return isComplete(known) || (name !== known.name && !continuesName(repair, known, name)) ? open(repair) : known;
  }
  const slot = index === undefined ? undefined : byIndex.get(index);
  const latest = calls.at(-1);
  const candidate = slot ?? (index === undefined || (id === undefined && name === undefined) ? latest : undefined);
  return candidate === undefined || opensAnother(repair, candidate, fragment) ? open(repair) : candidate;
}

/** Whether no further piece of the name can come. */
function nameIsFinal(repair: Repair, call: Call): boolean {
  if (!repair.toolNames.has(call.name)) return false;
  for (const known of repair.toolNames) if (known !== call.name && known.startsWith(call.name)) return false;
  return true;
}

function start(repair: Repair, call: Call): void {
  const { choice, events } = repair;
  if (call.started || call.name === '') return;
  call.started = true;
  const isLong = call.fields !== undefined && JSON.stringify(call.fields).length > maxInId;
  call.begunWith = { id: call.upstreamId, fields: isLong ? undefined : call.fields };
  call.id = repair.newId(call.tool, call.begunWith);
  events.push({ type: 'tool-start', choice, tool: call.tool, id: call.id, name: call.name });
  if (call.arguments !== '') events.push({ type: 'tool-delta', choice, tool: call.tool, text: call.arguments });
}

function take(repair: Repair, fragment: Fragment, source: 'delta' | 'message'): void {
  const { choice, events } = repair;
  const { id, index, name, text, fields } = fragment;
  // An empty fragment must not open a call that never gets a name.
  if (id === undefined && name === undefined && text === '' && (fields === undefined || repair.calls.length === 0))
    return;
  const call = source === 'message' ? open(repair) : find(repair, fragment);
  if (id !== undefined) {
    call.upstreamId ??= id;
    repair.byId.set(id, call);
  }
  if (fields !== undefined) call.fields = mergeFields(call.fields, fields);
  if (index !== undefined) repair.byIndex.set(index, call);
  if (name !== undefined && !call.started && name !== call.name) call.name += name;
  // A later call shows that the name of an earlier one is complete.
  for (const earlier of repair.calls) if (earlier.tool < call.tool) start(repair, earlier);
  const wasStarted = call.started;
  call.arguments += text;
  call.unscanned += text;
  if (text !== '' || nameIsFinal(repair, call)) start(repair, call);
  if (wasStarted && text !== '') events.push({ type: 'tool-delta', choice, tool: call.tool, text });
}

interface Call {
  readonly tool: number;
  /** Our id, as soon as the call has begun. */
  id: string;
  /** The engine's id, as soon as it has sent one. */
  upstreamId: string | undefined;
  /** Fields that only the engine can read. */
  fields: JsonObject | undefined;
  /** What our id was made from. */
  begunWith: EngineCall | undefined;
  name: string;
  arguments: string;
  /** Whether `tool-start` was sent, which makes the name final. */
  started: boolean;
  /** Finds the end of the arguments. */
  readonly scan: JsonScan;
  /** The part of the arguments that was not scanned yet. */
  unscanned: string;
  /** Whether the arguments are one JSON object and nothing else. Undefined until their end was found. */
  complete: boolean | undefined;
}

/** The arguments as text. Some engines send an object, or null for none. In a whole message SGLang sends the text `null`. */
function argumentsOf(value: unknown, source: 'delta' | 'message'): string {
  if (value === 'null' && source === 'message') return '';
  if (typeof value === 'string') return value;
  if (isObject(value)) return textOfObject(value);
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

interface Fragment {
  readonly id: string | undefined;
  readonly index: number | undefined;
  readonly name: string | undefined;
  /** A piece of the arguments. */
  readonly text: string;
  readonly fields: JsonObject | undefined;
}

function readFragment(fragment: JsonObject, source: 'delta' | 'message'): Fragment {
  const { function: named } = fragment;
  const inside = isObject(named) ? opaqueFields(named) : undefined;
  const described = isObject(named) ? named : typeof named === 'string' ? { ...fragment, name: named } : fragment;
  return {
    id: wordOf(fragment['id']),
    index: countOf(fragment['index']),
    name: wordOf(described['name']),
    text: argumentsOf(described['arguments'] ?? described['parameters'], source),
    fields: mergeFields(opaqueFields(fragment), inside && { function: inside }),
  };
}
