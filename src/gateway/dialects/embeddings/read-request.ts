import { z } from 'zod';
import { Failure } from '../../../core/failure.ts';
import type { Request, Task } from '../../../core/request.ts';
import { readModelName } from '../../core/model-name.ts';
import { inertFields, parseBody } from '../read-body.ts';
import { count } from '../wire-fields.ts';

/**
 * Fields of engines and other services that have no effect here, and are listed to the caller. Some of them change vectors there, so
 * a caller must be able to notice. `user` is dropped, since it may hold an end user's id.
 */
const inertNames: ReadonlySet<string> = new Set([
  'add_special_tokens',
  'embedding_type',
  'input_type',
  'instruction',
  'late_chunking',
  'normalize',
  'normalized',
  'options',
  'priority',
  'prompt_name',
  'provider',
  'service_tier',
  'task',
  'task_type',
  'truncate',
  'truncate_prompt_tokens',
]);

/** The embeddings request body of the public wire format (https://platform.openai.com/docs/api-reference/embeddings/create). Null means absent. */
export const embeddingsBody = z.object({
  model: z.string().min(1),
  // Read by `readInputs`, which stops at the first fault.
  input: z.unknown().optional(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: count.nullish(),
});

/** Most inputs of a request: the limit of the public wire format. */
const maxInputs = 2048;

/** The largest id that a vocabulary can have. */
const maxTokenId = 2 ** 31 - 1;

/**
 * Reads a parsed embeddings body into a request with one message for each input. Throws `invalid_request` with the path of the first
 * invalid field, or `variant_not_supported`.
 */
export function readRequest(value: unknown): Request {
  const body = parseBody(embeddingsBody, value);
  const { texts, tokenIds } = readInputs(body.input);
  const task: Task = {
    kind: 'embedding',
    inputs: texts.length,
    encoding: body.encoding_format ?? 'float',
    dimensions: body.dimensions ?? undefined,
    tokenIds,
  };
  return {
    modelName: readModelName(body.model),
    task,
    messages: texts.map((content) => ({ role: 'user', content })),
    tools: [],
    sampling: {},
    stream: false,
    includeUsage: true,
    inert: inertFields(value, inertNames),
  };
}

interface Inputs {
  /** A list of token ids is its JSON text. */
  readonly texts: readonly string[];
  /** Lengths of the lists of token ids. Undefined: the inputs are texts. */
  readonly tokenIds?: readonly number[];
}

const fault = (field: string, expected: string): Failure =>
  new Failure('invalid_request', `${field}: expected ${expected}`);

function readInputs(input: unknown): Inputs {
  if (typeof input === 'string') return { texts: [readText(input, 'input')] };
  if (!Array.isArray(input)) throw fault('input', 'a text, or a list of texts');
  const values: readonly unknown[] = input;
  const [first] = values;
  if (first === undefined) throw fault('input', 'at least one text');
  // One input as token ids may be longer than any list of inputs.
  if (typeof first === 'number') return listsOfIds([values], () => 'input');
  if (values.length > maxInputs)
    throw fault(`input[${maxInputs}]`, `at most ${maxInputs} inputs, got ${values.length}`);
  if (Array.isArray(first)) return listsOfIds(values, (at) => `input[${at}]`);
  return { texts: values.map((text, at) => readText(text, `input[${at}]`)) };
}

function readText(value: unknown, field: string): string {
  if (typeof value !== 'string') throw fault(field, 'a text');
  if (value === '') throw fault(field, 'a text that is not empty');
  return value;
}

function listsOfIds(lists: readonly unknown[], fieldOf: (at: number) => string): Inputs {
  const ids = lists.map((list, at) => readIds(list, fieldOf(at)));
  return { texts: ids.map((list) => JSON.stringify(list)), tokenIds: ids.map(({ length }) => length) };
}

function readIds(value: unknown, field: string): readonly number[] {
  if (!Array.isArray(value)) throw fault(field, 'a list of token ids');
  if (value.length === 0) throw fault(field, 'at least one token id');
  const ids: readonly unknown[] = value;
  return ids.map((id, at) => {
    if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id <= maxTokenId) return id;
    throw fault(`${field}[${at}]`, 'a token id, a whole number from 0');
  });
}
