import type { Transform } from 'node:stream';
import { type ContentCoding, createDecoder } from '../core/content-coding.ts';

/** Maximum size of one decoded answer, bytes: that of the largest answer with token probabilities. */
export const maxDecodedBytes = 64 * 1024 * 1024;

/** Receives a decoded body, in order. */
interface DecodedSink {
  readonly data: (bytes: Buffer) => void;
  readonly ended: () => void;
  /** The body is not in its coding, ends too early, or is over the limit. */
  readonly failed: (reason: string) => void;
  /** The decoder has room for more. */
  readonly drained: () => void;
}

export type BodyDecoder = ReturnType<typeof decodeAnswer>;

export function decodeAnswer(coding: ContentCoding, sink: DecodedSink) {
  /** Begins with the body, whose first bytes it needs. */
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

  function start(first: Buffer): Transform {
    const started = createDecoder(coding, { first });
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
    /** False: the decoder is full until `drained`. */
    push: (bytes: Buffer): boolean => bytes.length === 0 || (transform ??= start(bytes)).write(bytes),
    end: (): void => {
      if (transform === undefined) sink.ended();
      else transform.end();
    },
    /** Nothing is reported afterwards. */
    close,
    pause: (): void => {
      isPaused = true;
      transform?.pause();
    },
    resume: (): void => {
      isPaused = false;
      transform?.resume();
    },
  };
}
