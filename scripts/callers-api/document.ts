/** The API for callers as OpenAPI 3.1, made of the schemas that read requests and of the table of failures. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { answerPaths, furtherPaths } from '../../src/core/api-paths.ts';
import { innerSchemas } from '../../src/core/body-schema.ts';
import { failures } from '../../src/core/failure.ts';
import { chatBody } from '../../src/gateway/dialects/chat/schema.ts';
import { embeddingsBody } from '../../src/gateway/dialects/embeddings/read-request.ts';
import { countBody, messagesBody } from '../../src/gateway/dialects/messages/schema.ts';
import { rerankBody } from '../../src/gateway/dialects/rerank/schema.ts';
import { responsesBody } from '../../src/gateway/dialects/responses/schema.ts';
import { type AnswerName, answerSchemas } from './answers.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** How each operation is switched on; absent: it is always there. */
export interface Operation {
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  /** The section of docs/reference/endpoints.md with its rules, as its heading is written. */
  readonly section: string;
  readonly needs?: string;
  readonly body?: z.ZodType;
  readonly answer: AnswerName;
  /** The chunks of a stream, where the body may ask for one. */
  readonly stream?: AnswerName | 'text';
  readonly error: 'Error' | 'MessagesError';
  readonly key: boolean;
}

const further = 'Served with `WEIR_FURTHER_PATHS=on`.';
const post = { method: 'post', key: true, error: 'Error' } as const;

export const operations: readonly Operation[] = [
  {
    ...{ ...post, path: answerPaths.chat, id: 'createChatCompletion', summary: 'Create a chat completion' },
    ...{ section: '4.1 Chat completions', body: chatBody, answer: 'ChatCompletion', stream: 'ChatCompletionChunk' },
  },
  {
    ...{ ...post, path: answerPaths.messages, id: 'createMessage', summary: 'Create a message' },
    ...{ section: '4.3 Messages', body: messagesBody, answer: 'Message', stream: 'text', error: 'MessagesError' },
  },
  {
    ...{ ...post, path: answerPaths.responses, id: 'createResponse', summary: 'Create a response' },
    ...{ section: '4. Endpoints', body: responsesBody, answer: 'Response', stream: 'text' },
    needs: 'Served with `WEIR_RESPONSES=stateless`.',
  },
  {
    ...{ ...post, path: answerPaths.embeddings, id: 'createEmbeddings', summary: 'Create embeddings' },
    ...{ section: '4.6 Embeddings', body: embeddingsBody, answer: 'Embeddings' },
    needs: 'Served while the catalog has an embedding model.',
  },
  {
    ...{ ...post, path: answerPaths.rerank, id: 'rerank', summary: 'Rank documents by a query' },
    ...{ section: '4.7 Rerank', body: rerankBody, answer: 'Ranks' },
    needs: 'Served while the catalog has a rerank model. `/v2/rerank` is the same.',
  },
  {
    ...{ method: 'get', path: '/v1/models', id: 'listModels', summary: 'List models', section: '4.2 Catalog' },
    ...{ answer: 'ModelList', error: 'Error', key: false },
  },
  {
    ...{ method: 'get', path: '/v1/models/{id}', id: 'getModel', summary: 'Get a model', section: '4.4 Further paths' },
    ...{ answer: 'Model', error: 'Error', key: false, needs: further },
  },
  {
    ...{ method: 'get', path: furtherPaths.key, id: 'getKey', summary: 'Get limits and budget of the key' },
    ...{ section: '4.4 Further paths', answer: 'Key', error: 'Error', key: true, needs: further },
  },
  {
    ...{ ...post, path: furtherPaths.countTokens, id: 'countTokens', summary: 'Count the tokens of a message' },
    ...{ section: '4.4 Further paths', body: countBody, answer: 'TokenCount', error: 'MessagesError', needs: further },
  },
  {
    ...{ method: 'get', path: '/healthz', id: 'getHealth', summary: 'Check that the edge answers' },
    ...{ section: '4. Endpoints', answer: 'Health', error: 'Error', key: false },
  },
];

/** What JSON Schema can say of a schema. What only code checks, such as the depth of a tool's input, is in the pages. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const inner = innerSchemas.get(zodSchema);
      if (inner !== undefined && 'item' in inner) Object.assign(jsonSchema, { items: schemaOf(inner.item, io) });
      if (inner !== undefined && 'types' in inner) {
        const types = inner.types.map((type) => schemaOf(type, io));
        Object.assign(jsonSchema, { anyOf: inner.hasOthers ? [...types, { type: 'object' }] : types });
      }
      if (zodSchema._zod.def.type === 'custom') Object.assign(jsonSchema, { type: 'object' });
      // The ends of what a number holds exactly are no limit of ours, and a pattern of JSON Schema knows no case.
      const patterns: unknown = Object(zodSchema._zod.bag)['patterns'];
      const isCaseless = patterns instanceof Set && [...patterns].some((one: RegExp) => one.flags.includes('i'));
      if (isCaseless) delete jsonSchema.pattern;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maxItems === Infinity) delete jsonSchema.maxItems;
    },
  });
  return rest;
}

export const bodySchema = (body: z.ZodType): JsonSchema => schemaOf(body, 'input');

const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: JsonSchema): JsonSchema => ({ 'application/json': { schema } });

/** Statuses that every call can get, from the table of failures. */
const statuses = [...new Set(Object.values(failures).map(({ status }) => status))].filter((status) => status !== 200);
/** Those of a call without a body and without a key. */
const plainStatuses: ReadonlySet<number> = new Set([429, 503]);

const reasons: Readonly<Record<number, string>> = {
  400: 'Weir refuses the request.',
  401: 'The key is missing, unknown, expired or revoked.',
  402: 'The balance or a budget is used up.',
  403: 'The key or its workspace is suspended.',
  404: 'There is nothing at this path.',
  413: 'The body is too large.',
  415: 'The body’s encoding is not supported.',
  429: 'A limit; `Retry-After` contains the time to wait.',
  502: 'All attempts on engines have failed.',
  503: 'No engine is available, or the service is overloaded.',
};

function operationObject({ id, summary, section, needs, body, answer, stream, error, key }: Operation): JsonSchema {
  const streamed =
    stream === undefined
      ? {}
      : { 'text/event-stream': { schema: stream === 'text' ? { type: 'string' } : reference(stream) } };
  const answered = key ? statuses : statuses.filter((status) => plainStatuses.has(status));
  return {
    operationId: id,
    summary,
    description: `${needs === undefined ? '' : `${needs} `}Rules: docs/reference/endpoints.md, "${section}".`,
    ...(body !== undefined && { requestBody: { required: true, content: json(bodySchema(body)) } }),
    ...(id === 'getModel' && {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
    }),
    ...(!key && { security: [] }),
    responses: {
      200: { description: 'The answer.', content: { ...json(reference(answer)), ...streamed } },
      ...Object.fromEntries(
        answered.map((status) => [
          status,
          { description: reasons[status] ?? 'An error.', content: json(reference(error)) },
        ]),
      ),
    },
  };
}

/** The document. Fields of answers may be added within a major version, so its answers are open. */
export function callersApi(): JsonSchema {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')));
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = operationObject(operation);
  const document = {
    openapi: '3.1.0',
    info: { title: 'Weir API', version, description: 'The API for callers: docs/reference/api.md.' },
    servers: [{ url: 'http://127.0.0.1:8080' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or a token that an Identity accepts.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
      schemas: Object.fromEntries(
        Object.entries(answerSchemas).map(([name, schema]) => [name, openObjects(schemaOf(schema, 'output'))]),
      ),
    },
  };
  const { schemas } = document.components;
  const { value, parts } = withParts(document, new Set(Object.keys(schemas)));
  return { ...value, components: { ...value.components, schemas: { ...value.components.schemas, ...parts } } };
}

/**
 * Names the objects that come more than once by their `type`, such as `InputImage`. Written out everywhere, they would make the
 * document ten times as long.
 */
function withParts<T>(document: T, taken: Set<string>): { readonly value: T; readonly parts: Record<string, unknown> } {
  const counts = new Map<string, number>();
  JSON.stringify(document, (_, value: unknown) => {
    if (typeNameOf(value) !== undefined)
      counts.set(JSON.stringify(value), (counts.get(JSON.stringify(value)) ?? 0) + 1);
    return value;
  });
  const parts: Record<string, unknown> = {};
  const names = new Map<string, string>();

  function named(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const text = JSON.stringify(value);
    const type = typeNameOf(value);
    const isPart = type !== undefined && (counts.get(text) ?? 0) > 1;
    const known = names.get(text);
    if (isPart && known !== undefined) return reference(known);
    const copy = Array.isArray(value)
      ? value.map(named)
      : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, named(inner)]));
    if (!isPart) return copy;
    let name = type;
    for (let number = 2; taken.has(name); number += 1) name = `${type}${number}`;
    taken.add(name);
    names.set(text, name);
    parts[name] = copy;
    return reference(name);
  }
  return { value: named(document) as T, parts };
}

const typedObject = z.object({ properties: z.object({ type: z.object({ const: z.string() }) }) });

/** A name by the `type` of an object's schema; undefined where it has none. */
function typeNameOf(value: unknown): string | undefined {
  const { data } = typedObject.safeParse(value);
  const words = data?.properties.type.const.split('_') ?? [];
  return data === undefined ? undefined : words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** Without the promise that there are no further fields. */
function openObjects(schema: unknown): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (name, value: unknown) => (name === 'additionalProperties' ? undefined : value)),
  ) as JsonSchema;
}
