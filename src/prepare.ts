import type { RequestTarget } from './core/capability.ts';
import { Failure } from './core/failure.ts';
import type { PreparedRequest } from './core/prepared.ts';
import type { Request } from './core/request.ts';
import { readRequest } from './dialects/chat/read-request.ts';
import { writeRequest } from './dialects/chat/write-request.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new Failure('invalid_request', 'The request body is not valid UTF-8.', { cause });
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, so it goes nowhere.
    throw new Failure('invalid_request', 'The request body is not valid JSON.');
  }
}

/** Reads the bytes of a chat completions body. Throws `invalid_request` and the other refusals of its fields. */
export function readBody(bytes: Uint8Array): Request {
  return readRequest(parse(bytes));
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

export function hasImages(request: Request): boolean {
  return request.messages.some(
    ({ content }) => typeof content === 'object' && content.some((part) => part.type === 'image'),
  );
}

/** Reads a body here and now. For small ones: a large one is read in a worker, so that it holds up nobody else. */
export function prepareHere(bytes: Uint8Array): PreparedRequest {
  const request = readBody(bytes);
  return {
    request,
    hasImages: hasImages(request),
    bodyBytes: bytes.length,
    bodyFor: (target) => writeBody(request, target),
    release: () => undefined,
  };
}
