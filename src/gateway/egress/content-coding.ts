import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';

/** Maximum size of one decoded answer, bytes: that of the largest answer with token probabilities. */
export const maxDecodedBytes = 64 * 1024 * 1024;

/** Receives a decoded body, in order. */
export interface DecodedSink {
  readonly data: (bytes: Buffer) => void;
  readonly ended: () => void;
  /** The body is not in its coding, ends too early, or is over the limit. */
  readonly failed: (reason: string) => void;
  /** The decoder has room for more. */
  readonly drained: () => void;
}

/** Decodes the body of an answer. */
export interface BodyDecoder {
  /** False: the decoder is full until `drained`. */
  readonly push: (bytes: Buffer) => boolean;
  readonly end: () => void;
  /** Nothing is reported afterwards. */
  readonly close: () => void;
  readonly pause: () => void;
  readonly resume: () => void;
}

type Stage = (firstByte: number) => Transform;

const stages: ReadonlyMap<string, Stage> = new Map<string, Stage>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  // Some servers leave out the header of zlib (RFC 9110 §8.4.1.2).
  ['deflate', (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress()],
]);

/**
 * Returns a decoder for a `content-encoding`. Undefined: the body is as it is. `unknown`: a coding that cannot be read, or several of
 * them: no server that was asked for `identity` codes twice.
 */
export function decoderFor(coding: string, sink: DecodedSink): BodyDecoder | 'unknown' | undefined {
  const names = coding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  const [name, ...others] = names;
  if (name === undefined) return undefined;
  const stage = stages.get(name);
  return stage === undefined || others.length > 0 ? 'unknown' : decode(stage, sink);
}

function decode(stage: Stage, sink: DecodedSink): BodyDecoder {
  let transform: Transform | undefined;
  let decodedBytes = 0;
  let isPaused = false;

  function fail(reason: string): void {
    close();
    sink.failed(reason);
  }

  function close(): void {
    transform?.removeAllListeners();
    // What is still in the thread pool may fail after this.
    transform?.on('error', () => undefined);
    transform?.destroy();
  }

  function start(firstByte: number): Transform {
    const started = stage(firstByte);
    started.on('data', (bytes: Buffer) => {
      decodedBytes += bytes.length;
      if (decodedBytes > maxDecodedBytes) fail('DECODED_SIZE');
      else sink.data(bytes);
    });
    started.on('end', sink.ended);
    started.on('error', () => fail('ENCODING'));
    started.on('drain', sink.drained);
    if (isPaused) started.pause();
    return started;
  }

  return {
    push: (bytes) => {
      const [first] = bytes;
      if (first === undefined) return true;
      transform ??= start(first);
      return transform.write(bytes);
    },
    end: () => {
      if (transform === undefined) sink.ended();
      else transform.end();
    },
    close,
    pause: () => {
      isPaused = true;
      transform?.pause();
    },
    resume: () => {
      isPaused = false;
      transform?.resume();
    },
  };
}
