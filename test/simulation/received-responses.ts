import { isJsonObject, type JsonObject, objectOr, parsedOr, stringOr } from '../programmable-engine/json-value.ts';
import { checkResponsesStream } from '../support/responses-stream-checker.ts';
import {
  costIn,
  listIn,
  newChoice,
  nothing,
  type ReceivedAnswer,
  type ReceivedChoice,
  urlsIn,
} from './received-choice.ts';

/** Reads a stream of the responses surface. One that has no end yet is read event by event. */
export function readResponsesStream(body: string, hasEnded: boolean): ReceivedAnswer {
  const whole = body.slice(0, body.lastIndexOf('\n\n') + 2);
  if (/^event: response\.(completed|incomplete|failed)$/m.test(whole)) {
    try {
      return answerOf(checkResponsesStream(body));
    } catch (error) {
      return { ...nothing([String(error)]), end: 'error' };
    }
  }
  const choice = newChoice();
  let id: string | undefined;
  /** Items by their places, as they are. */
  const items: JsonObject[] = [];
  const citations: string[] = [];
  for (const frame of whole.split('\n\n')) {
    const event = objectOr(parsedOr(frame.slice(frame.indexOf('\ndata: ') + 7)));
    if (event['type'] === 'response.created') id = stringOr(objectOr(event['response'])['id'], '');
    const { output_index: at, item, annotation } = event;
    if (isJsonObject(item)) items[Number(at)] = item;
    if (isJsonObject(annotation)) citations.push(String(annotation['url']));
    takeDelta(choice, event);
  }
  const faults = hasEnded && whole !== body ? ['the stream ends within an event'] : [];
  return { ...nothing(faults), searches: searchesIn(items), citations, choices: new Map([[0, choice]]), id };
}

/** Adds a piece of text or of arguments. A request of a caller has one tool, which is called once. */
function takeDelta(choice: ReceivedChoice, event: JsonObject): void {
  const text = stringOr(event['delta'], '');
  if (event['type'] === 'response.output_text.delta') choice.text += text;
  else if (traceDeltas.has(event['type'])) choice.reasoning += text;
  else if (event['type'] === 'response.function_call_arguments.delta') {
    const known = choice.calls.get(0) ?? { name: '', arguments: '' };
    known.arguments += text;
    choice.calls.set(0, known);
  }
}

const traceDeltas: ReadonlySet<unknown> = new Set([
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
]);

/** Reads an answer in one piece. */
export function readResponsesJson(body: string, hasEnded: boolean): ReceivedAnswer {
  const json = parsedOr(body.trim());
  if (!isJsonObject(json)) return nothing(hasEnded && body.trim() !== '' ? ['the body is no JSON'] : []);
  if (isJsonObject(json['error'])) return { ...nothing([]), end: 'error' };
  return answerOf(json);
}

/** What is read of a response object. */
type ResponseFields = { readonly [Name in 'id' | 'status' | 'output' | 'usage' | 'incomplete_details']?: unknown };

/** Reads a response object that has ended. */
function answerOf({ id, status, output, usage, incomplete_details: cause }: ResponseFields): ReceivedAnswer {
  const choice = newChoice();
  const faults: string[] = [];
  const items = listIn(output);
  for (const item of items) {
    // A search that has failed is an item of a good answer.
    const isWhole = item['status'] === 'completed' || item['type'] === 'web_search_call';
    if (status === 'completed' && !isWhole) faults.push(`an item is ${String(item['status'])}`);
    takeItem(choice, item);
  }
  [choice.finishes, choice.finish] = [1, stringOr(objectOr(cause)['reason'], String(status))];
  const told = isJsonObject(usage) ? usage : undefined;
  return {
    ...{ choices: new Map([[0, choice]]), id: stringOr(id, ''), cost: costIn(told), usage: told },
    ...{ end: status === 'failed' ? 'error' : 'whole', faults },
    ...{ searches: searchesIn(items), content: items },
    citations: items.flatMap((item) => listIn(item['content']).flatMap((part) => urlsIn(part['annotations']))),
  };
}

function searchesIn(items: readonly JsonObject[]): ReceivedAnswer['searches'] {
  return items.flatMap(({ type, status, action }) => {
    if (type !== 'web_search_call') return [];
    const { query, sources } = objectOr(action);
    const found = status === 'failed' ? ('error' as const) : urlsIn(sources);
    return [{ query: stringOr(query, ''), result: status === 'in_progress' ? ('open' as const) : found }];
  });
}

function takeItem(choice: ReceivedChoice, item: JsonObject): void {
  const parts = [item['content'], item['summary']].flatMap((each) => (Array.isArray(each) ? each : []));
  const text = parts.map((part) => stringOr(objectOr(part)['text'], '')).join('');
  if (item['type'] === 'message') choice.text += text;
  if (item['type'] === 'reasoning') choice.reasoning += text;
  if (item['type'] === 'function_call') {
    const { name, arguments: given } = item;
    choice.calls.set(choice.calls.size, { name: stringOr(name, ''), arguments: stringOr(given, '') });
  }
}
