import type { RequestTarget } from './core/capability.ts';
import type { Surface } from './core/dialect.ts';
import { Failure } from './core/failure.ts';
import { prefixesOf } from './core/prefixes.ts';
import type { PreparedRequest } from './core/prepared.ts';
import type { Request } from './core/request.ts';
import type { PromptShape, Tokenizers } from './core/tokenizer.ts';
import type { SearchSeal } from './core/web-search.ts';
import { writeRequest } from './dialects/chat/write-request.ts';
import { dialects } from './dialects/dialects.ts';
import { createJsonBounds } from './dialects/json-bounds.ts';

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
  if (text.length > harmlessLength && !createJsonBounds(limits).push(text)) {
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
  { surface, seal }: ReadAs,
): { readonly request: Request; readonly shape: PromptShape } {
  const text = decode(bytes);
  const request = dialects[surface].readRequest(parse(text), seal);
  // Every character beyond ASCII has more bytes than it has UTF-16 units.
  const size = { bodyBytes: bytes.length, isAscii: text.length === bytes.length };
  return { request, shape: shapeOf(request, grown(request, size)) };
}

/** What is known of its prompt. */
function shapeOf(request: Request, size: Size): PromptShape {
  const { messages, tools } = request;
  let images = 0;
  let toolCalls = 0;
  for (const message of messages) {
    if (Array.isArray(message.content)) for (const part of message.content) if (part.type === 'image') images += 1;
    if (message.role === 'assistant') toolCalls += message.toolCalls?.length ?? 0;
  }
  return { ...size, messages: messages.length, tools: tools.length, toolCalls, images, prefixes: prefixesOf(request) };
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

/** Reads a body here and now. For small ones: a large one is read in a worker, so that it holds up nobody else. */
export function prepareHere(
  bytes: Uint8Array,
  { countPrompt, ...how }: ReadAs & { readonly countPrompt: Tokenizers['countPrompt'] },
): PreparedRequest {
  const { request, shape } = readBody(bytes, how);
  const { messages, tools } = request;
  return {
    request,
    shape,
    bodyFor: (target) => writeBody(request, target),
    countPrompt: ({ tokenizerPath, templateArguments, ...options }) =>
      countPrompt(tokenizerPath, { messages, tools, templateArguments }, options),
    release: () => undefined,
  };
}
