import type { RequestTarget } from '../core/capability.ts';
import { estimatePromptText } from '../core/count-tokens.ts';
import type { Surface } from '../core/dialect.ts';
import { conversationDigest, promptDigest } from '../core/digests.ts';
import { Failure } from '../core/failure.ts';
import type { ImageHosts } from '../core/image-hosts.ts';
import { parameterNames, parameters, type Sampling } from '../core/parameters.ts';
import type { PreparedRequest, Prompt, PromptCounting, PromptShape, Tokenizers } from '../core/prompt.ts';
import type { Request, ResponseFormat, Tool } from '../core/request.ts';
import type { SearchSeal } from '../core/web-search.ts';
import { arrangeMessages } from '../dialects/arrange-messages.ts';
import { writeRequest } from '../dialects/engine/write-request.ts';
import { checkImages } from '../dialects/content.ts';
import { dialects } from '../dialects/dialects.ts';
import { createJsonScan, type JsonScan } from '../core/json-scan.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new Failure('invalid_request', 'The request body is not valid UTF-8.', { cause });
  }
}

/**
 * Most values of a body, lists and objects included: a conversation as long as any model takes has a tenth of it. An object of
 * half a million fields takes a minute to be read and written: the thread that does it serves everybody.
 */
const limits = { maxDepth: Infinity, maxValues: 250_000 };
/** A shorter body cannot hold enough to do harm. */
const harmlessLength = 128 * 1024;

function parse(text: string): unknown {
  if (text.length > harmlessLength && !createJsonScan(limits).push(text)) {
    throw new Failure('invalid_request', `The request body holds more than ${limits.maxValues} values.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, so it goes nowhere.
    throw new Failure('invalid_request', 'The request body is not valid JSON.');
  }
}

/** How the bytes of a body are to be read. */
interface ReadAs {
  readonly surface: Surface;
  /** Absent: what searches found cannot be opened here. */
  readonly seal?: SearchSeal;
  /** From where engines may fetch images. Absent: from anywhere. */
  readonly imageHosts?: ImageHosts;
  readonly keepsBillingLines?: boolean;
}

type Size = Pick<PromptShape, 'bodyBytes' | 'isAscii'>;

const encoder = new TextEncoder();

/** The size of a body with what the service itself writes into the prompt: its search tool, and what is unsealed. */
function grown({ webSearch, sources, messages, tools }: Request, size: Size): Size {
  if (webSearch === undefined && sources === undefined) return size;
  const bodyBytes = encoder.encode(JSON.stringify([messages, tools])).length;
  return { bodyBytes: Math.max(size.bodyBytes, bodyBytes), isAscii: false };
}

/** Reads the bytes of a body in a surface's format. Throws `invalid_request` and the other refusals of its fields. */
export function readBody(
  bytes: Uint8Array,
  { surface, seal, imageHosts = 'any', keepsBillingLines }: ReadAs,
): { readonly request: Request; readonly shape: PromptShape } {
  const text = decode(bytes);
  const body = parse(text);
  const request = dialects[surface].readRequest(body, { seal, keepsBillingLines });
  checkImages(body, request.messages, imageHosts);
  // Every character beyond ASCII has more bytes than it has UTF-16 units.
  const size = { bodyBytes: bytes.length, isAscii: text.length === bytes.length };
  return { request, shape: shapeOf(request, grown(request, size)) };
}

/** What is known of its prompt. */
function shapeOf(request: Request, size: Size): PromptShape {
  const { messages, tools } = request;
  let images = 0;
  let callerImages = 0;
  let toolCalls = 0;
  for (const message of messages) {
    for (const part of Array.isArray(message.content) ? message.content : []) {
      if (part.type !== 'image') continue;
      images += 1;
      if (part.alternative === undefined) callerImages += 1;
    }
    if (message.role === 'assistant') toolCalls += message.toolCalls?.length ?? 0;
  }
  const hasLaterSystem = messages.some(({ role }, at) => role === 'system' && at > 0);
  const counts = { messages: messages.length, tools: tools.length, toolCalls, images, callerImages };
  const digests = { conversation: conversationDigest(request), digest: promptDigest(request) };
  return { ...size, ...counts, ...digests, hasLaterSystem, textTokens: estimatePromptText(request) };
}

/** Writes the body for an engine. Throws `invalid_request` when something in it is nested too deeply to be written. */
export function writeBody(request: Request, target: RequestTarget): string {
  try {
    return writeRequest(request, target);
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new Failure('invalid_request', 'The request body is nested too deeply.', { cause });
    }
    throw cause;
  }
}

/** The parts of a request that make its prompt, for an engine with these settings. */
export function promptOf(
  { messages, tools }: Pick<Request, 'messages' | 'tools'>,
  { templateArguments, form }: Pick<PromptCounting, 'templateArguments' | 'form'>,
): Prompt {
  return { messages: form === undefined ? messages : arrangeMessages(messages, form), tools, templateArguments };
}

/** Reads a body here and now. For small ones: a large one is read in a worker, so that it delays no other request. */
export function prepareHere(
  bytes: Uint8Array,
  { countPrompt, ...how }: ReadAs & { readonly countPrompt: Tokenizers['countPrompt'] },
): PreparedRequest {
  const { request, shape } = readBody(bytes, how);
  return {
    request,
    shape,
    bodyFor: (target) => writeBody(request, target),
    countPrompt: ({ tokenizerPath, templateArguments, form, ...options }) =>
      countPrompt(tokenizerPath, promptOf(request, { templateArguments, form }), options),
    release: () => undefined,
  };
}

/** What schemas may hold in all to be copied from one thread to another: copying that takes a few milliseconds. */
const copyLimits = { maxDepth: 300, maxValues: 20_000 };
const mostCopiedCharacters = 1024 * 1024;

/** Returns whether the next schema is still within the limits of them all. */
function createCopyLimit(): (schema: object) => boolean {
  const bounds: JsonScan = createJsonScan(copyLimits);
  let left = mostCopiedCharacters;
  return (schema) => {
    const text = JSON.stringify(schema);
    left -= text.length;
    return left >= 0 && bounds.push(text);
  };
}

/**
 * What the thread that answers a request needs of it, while its messages and the rest stay where they were read. That thread
 * has to copy it in one piece: a schema of 30 MB, or a million biases, would hold up everybody for a second. Answers are not
 * validated against schemas that are left behind, as against none that is too large to be compiled; engines get every schema.
 */
export function handedOver({ messages: _, ...rest }: Request): Omit<Request, 'messages'> {
  const { tools, responseFormat, sampling } = rest;
  const fits = createCopyLimit();
  const format = responseFormat && { responseFormat: lightFormat(responseFormat, fits) };
  return { ...rest, ...format, tools: tools.map((tool) => lightTool(tool, fits)), sampling: lightSampling(sampling) };
}

function lightFormat(format: ResponseFormat, fits: (schema: object) => boolean): ResponseFormat {
  // Any JSON will do for an empty one.
  if (format.type !== 'json_schema' || format.schema === undefined || fits(format.schema)) return format;
  return { ...format, schema: {} };
}

function lightTool(tool: Tool, fits: (schema: object) => boolean): Tool {
  const { parameters, ...rest } = tool;
  return parameters === undefined || fits(parameters) ? tool : rest;
}

/** Whether a value is empty decides which routes can serve; its entries are for the engine alone. */
function lightSampling(sampling: Sampling): Sampling {
  const cut = parameterNames.flatMap((name) => {
    const value = sampling[name];
    const isLarge = parameters[name].handedOver === 'first-entry' && typeof value === 'object';
    return isLarge ? [[name, Object.fromEntries(Object.entries(value).slice(0, 1))] as const] : [];
  });
  return { ...sampling, ...Object.fromEntries(cut) };
}
