import type { RequestTarget } from '../../core/capability.ts';
import { estimatePromptText, estimateTokens } from '../core/count-tokens.ts';
import type { ReadOptions, Surface } from '../../core/dialect.ts';
import { conversationDigest, promptDigest } from '../core/digests.ts';
import { blockContents, promptText } from '../core/prompt-text.ts';
import { Failure } from '../../core/failure.ts';
import type { ImageHosts } from '../../core/image-hosts.ts';
import type { BlockContents, BlockKey, PromptBlocks } from '../../core/pool-prompt.ts';
import { parameterNames, parameters, type Sampling } from '../../core/parameters.ts';
import type { PreparedRequest, Prompt, PromptCounting, PromptShape, Tokenizers } from '../../core/prompt.ts';
import type { Request, ResponseFormat, Tool } from '../../core/request.ts';
import { arrangeMessages } from '../dialects/arrange-messages.ts';
import { openEngineState } from './engine-state.ts';
import { writeRequest } from '../dialects/engine/write-request.ts';
import { textOf, writeTask } from '../dialects/engine/write-task.ts';
import { promptBlocks } from '../routing/pool/prompt-blocks.ts';
import { checkImages } from '../dialects/content.ts';
import { dialects } from '../dialects/dialects.ts';
import { createJsonScan, type JsonScan } from '../../core/json-scan.ts';
import { keptNames, parseKeepingText } from '../../core/json-text.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new Failure('invalid_request', 'The request body is not valid UTF-8.', { cause });
  }
}

/**
 * Most values of a body, lists and objects included. The longest conversation that a model accepts has a tenth of this
 * number. Reading and writing an object of half a million fields takes a minute, and blocks a thread that all requests
 * share.
 */
const limits = { maxDepth: Infinity, maxValues: 250_000 };
/** A body of at most so many characters cannot have too many values. */
const harmlessLength = 128 * 1024;

/** The fields of all surfaces whose objects engines get as they were sent: inputs of calls, and schemas. */
const passedOn = keptNames('input', 'input_schema', 'parameters', 'schema');

function parse(text: string): unknown {
  if (text.length > harmlessLength && !createJsonScan(limits).push(text)) {
    throw new Failure('invalid_request', `The request body holds more than ${limits.maxValues} values.`);
  }
  try {
    return parseKeepingText(text, passedOn);
  } catch {
    // The parser's own message quotes the body, so it is dropped.
    throw new Failure('invalid_request', 'The request body is not valid JSON.');
  }
}

/** How to read the bytes of a body. */
interface ReadAs extends ReadOptions {
  readonly surface: Surface;
  /** The hosts that engines may fetch images from. Absent: all hosts. */
  readonly imageHosts?: ImageHosts;
  /** Opens the ids of calls, and the state of engines. Absent: they stay as they are. */
  readonly secret?: string | undefined;
}

type Size = Pick<PromptShape, 'bodyBytes' | 'isAscii'>;

const encoder = new TextEncoder();

/** The size of a body with the service's own additions to the prompt: its search tool and unsealed results of searches. */
function grown({ webSearch, sources, messages, tools }: Request, size: Size): Size {
  if (webSearch === undefined && sources === undefined) return size;
  const bodyBytes = encoder.encode(JSON.stringify([messages, tools])).length;
  return { bodyBytes: Math.max(size.bodyBytes, bodyBytes), isAscii: false };
}

/** Reads the bytes of a body in a surface's format. Throws `invalid_request` and the other refusals of its fields. */
export function readBody(bytes: Uint8Array, { surface, imageHosts = 'any', secret, ...options }: ReadAs) {
  const text = decode(bytes);
  const body = parse(text);
  const read = dialects[surface].readRequest(body, options);
  const request: Request = secret === undefined ? read : { ...read, messages: openEngineState(read.messages, secret) };
  checkImages(body, request.messages, imageHosts);
  // Each character outside ASCII has more bytes than UTF-16 units.
  const size = { bodyBytes: bytes.length, isAscii: text.length === bytes.length };
  const contents = blockContents(promptText(request));
  return { request, shape: shapeOf(request, contents, grown(request, size)), contents };
}

function shapeOf(request: Request, contents: BlockContents, size: Size): PromptShape {
  const { modelName, messages, tools } = request;
  let images = 0;
  let callerImages = 0;
  let imageBytes = 0;
  let toolCalls = 0;
  for (const message of messages) {
    for (const part of Array.isArray(message.content) ? message.content : []) {
      if (part.type !== 'image') continue;
      images += 1;
      imageBytes += part.url.length;
      if (part.alternative === undefined) callerImages += 1;
    }
    if (message.role === 'assistant') toolCalls += message.toolCalls?.length ?? 0;
  }
  const hasLaterSystem = messages.some(({ role }, at) => role === 'system' && at > 0);
  const counts = { messages: messages.length, tools: tools.length, toolCalls, images, callerImages, imageBytes };
  // Inputs of a task are no turns of a conversation.
  const conversation = request.task === undefined ? conversationDigest(request) : undefined;
  const digests = { conversation, digest: promptDigest(modelName, contents) };
  return { ...size, ...counts, ...digests, hasLaterSystem, ...textTokensOf(request) };
}

/** Token ids need no estimate. A query is read with each document. */
function textTokensOf(request: Request): Pick<PromptShape, 'textTokens' | 'messageTokens'> {
  const { task, messages } = request;
  if (task?.kind === 'embedding' && task.tokenIds !== undefined) {
    const tokens = task.tokenIds.reduce((sum, length) => sum + length, 0);
    return { textTokens: tokens, messageTokens: tokens };
  }
  if (task?.kind !== 'rerank') return estimatePromptText(request);
  const { documents, maxTokensPerDocument = Infinity } = task;
  const [query = 0, ...sizes] = messages.map((message) => estimateTokens(textOf(message)));
  const tokens = Math.ceil(sizes.reduce((sum, size) => sum + Math.min(size, maxTokensPerDocument), query * documents));
  return { textTokens: tokens, messageTokens: tokens };
}

/** Writes the body for an engine. Throws `invalid_request` when a part of it is nested too deeply to be written. */
export function writeBody(request: Request, target: RequestTarget): string {
  try {
    return request.task === undefined ? writeRequest(request, target) : writeTask(request, request.task, target);
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new Failure('invalid_request', 'The request body is nested too deeply.', { cause });
    }
    throw cause;
  }
}

/** The parts of a request that make its prompt, for an engine with these settings. */
export function promptOf(
  { messages, tools, task }: Pick<Request, 'messages' | 'tools' | 'task'>,
  { templateArguments, form }: Pick<PromptCounting, 'templateArguments' | 'form'>,
): Prompt {
  if (task?.kind === 'embedding') return { messages, tools, separate: 'each' };
  if (task !== undefined) return { messages, tools, separate: 'pairs', maxEach: task.maxTokensPerDocument };
  return { messages: form === undefined ? messages : arrangeMessages(messages, form), tools, templateArguments };
}

export const blocksOf =
  (contents: BlockContents) =>
  (key: BlockKey): PromptBlocks =>
    promptBlocks(contents, key);

/** Reads a body in this thread. A large body would delay other requests, so a worker reads large bodies. */
export function prepareHere(
  bytes: Uint8Array,
  { countPrompt, ...how }: ReadAs & { readonly countPrompt: Tokenizers['countPrompt'] },
): PreparedRequest {
  const { request, shape, contents } = readBody(bytes, how);
  return {
    request,
    shape,
    bodyFor: (target) => writeBody(request, target),
    countPrompt: ({ tokenizerPath, templateArguments, form, ...options }) =>
      countPrompt(tokenizerPath, promptOf(request, { templateArguments, form }), options),
    blocksFor: blocksOf(contents),
    release: () => undefined,
  };
}

/**
 * Limits for copying the schemas of a request to another thread, for all schemas together. The copy takes a few
 * milliseconds.
 */
const copyLimits = { maxDepth: 300, maxValues: 20_000 };
const maxCopiedCharacters = 1024 * 1024;

/** Returns a function that returns whether a schema, together with the schemas before it, is within the limits. */
function createCopyLimit(): (schema: object) => boolean {
  const bounds: JsonScan = createJsonScan(copyLimits);
  let left = maxCopiedCharacters;
  return (schema) => {
    const text = JSON.stringify(schema);
    left -= text.length;
    return left >= 0 && bounds.push(text);
  };
}

/**
 * Returns the part of a request that a worker hands over to the thread that serves the request. That thread copies this
 * part in one piece: a schema of 30 MB, or a million biases, would block all requests for a second. So the messages and
 * large values stay in the worker. Answers are not validated against schemas that stay there, just as they are not
 * validated against a schema that is too large to be compiled. Engines get every schema.
 */
export function handedOver({ messages: _, ...rest }: Request): Omit<Request, 'messages'> {
  const { tools, responseFormat, sampling } = rest;
  const fits = createCopyLimit();
  const format = responseFormat && { responseFormat: lightFormat(responseFormat, fits) };
  return { ...rest, ...format, tools: tools.map((tool) => lightTool(tool, fits)), sampling: lightSampling(sampling) };
}

function lightFormat(format: ResponseFormat, fits: (schema: object) => boolean): ResponseFormat {
  // An empty schema accepts any JSON.
  if (format.type !== 'json_schema' || format.schema === undefined || fits(format.schema)) return format;
  return { ...format, schema: {} };
}

function lightTool(tool: Tool, fits: (schema: object) => boolean): Tool {
  const { parameters, ...rest } = tool;
  return parameters === undefined || fits(parameters) ? tool : rest;
}

/**
 * Reduces a large value to one entry. Routing only needs to know that the value is not empty, and the worker writes all
 * entries.
 */
function lightSampling(sampling: Sampling): Sampling {
  const cut = parameterNames.flatMap((name) => {
    const value = sampling[name];
    const isLarge = parameters[name].handedOver === 'first-entry' && typeof value === 'object';
    return isLarge ? [[name, Object.fromEntries(Object.entries(value).slice(0, 1))] as const] : [];
  });
  return { ...sampling, ...Object.fromEntries(cut) };
}
