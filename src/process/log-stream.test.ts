// @suite apart
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createLogStream, type LogSink } from './log-stream.ts';

type Done = Parameters<LogSink['write']>[1];

/** A sink that answers a write when the test says so. */
function setUp(maxBytes?: number) {
  const clock = createFakeClock();
  const writes: string[] = [];
  const lastWords: string[] = [];
  let pending: { readonly bytes: Buffer; readonly done: Done } | undefined;
  const answer = (error: string | undefined, written?: number): void => {
    const write = pending;
    if (write === undefined) throw new Error('nothing is being written');
    pending = undefined;
    writes.push(write.bytes.subarray(0, written ?? (error === undefined ? write.bytes.length : 0)).toString());
    write.done(
      error === undefined ? undefined : Object.assign(new Error(error), { code: error }),
      written ?? (error === undefined ? write.bytes.length : 0),
    );
  };
  const stream = createLogStream({
    sink: {
      write: (bytes, done) => {
        if (pending !== undefined) throw new Error('two writes at once');
        pending = { bytes, done };
      },
      writeNow: (bytes) => lastWords.push(bytes.toString()),
    },
    clock,
    format: (record) => record,
    notice: (dropped) => `${dropped} dropped\n`,
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
  return {
    ...{ clock, stream, writes, lastWords, answer },
    written: () => writes.join(''),
    isWriting: () => pending !== undefined,
  };
}

describe('the log stream', () => {
  it('writes the first record at once, and those of the next 100 ms together', () => {
    const { stream, answer, writes, isWriting, clock } = setUp();
    for (const record of ['a\n', 'b\n']) stream.write(record);
    answer(undefined);
    clock.advance(99);
    stream.write('c\n');
    expect(isWriting()).toBe(false);
    clock.advance(1);
    answer(undefined);
    expect(writes).toEqual(['a\n', 'b\nc\n']);
    clock.advance(100);
    expect(isWriting()).toBe(false);
    expect(clock.armed()).toBe(0);
    stream.write('d\n');
    expect(isWriting()).toBe(true);
    expect(stream.dropped()).toBe(0);
  });

  it('goes on where a write stopped short', () => {
    const { stream, answer, written } = setUp();
    stream.write('abcdef\n');
    answer(undefined, 3);
    answer(undefined);
    expect(written()).toBe('abcdef\n');
  });

  it.each(['ENOSPC', 'EIO', 'EPIPE'])(
    'drops and counts on %s, tries again after a second and logs how many',
    (code) => {
      const { stream, answer, written, clock, isWriting } = setUp();
      for (const record of ['a\n', 'b\n']) stream.write(record);
      answer(code);
      expect(stream.dropped()).toBe(2);
      stream.write('c\n');
      clock.advance(999);
      expect(isWriting()).toBe(false);
      clock.advance(1);
      answer(undefined);
      clock.advance(100);
      answer(undefined);
      expect(written()).toBe('2 dropped\nc\n');
      clock.advance(100);
      expect(clock.armed()).toBe(0);
    },
  );

  it('counts the records that could not be written, and logs their number once', () => {
    const { stream, answer, written, clock } = setUp();
    stream.write('a\n');
    answer('ENOSPC');
    stream.write('b\n');
    clock.advance(1000);
    answer('ENOSPC');
    expect(stream.dropped()).toBe(2);
    clock.advance(1000);
    answer(undefined);
    expect(written()).toBe('2 dropped\n');
  });

  it('does not count a record that was whole, and begins a new line after one that was cut', () => {
    const { stream, answer, written, clock } = setUp();
    stream.write('0\n');
    for (const record of ['a\n', 'bcd\n', 'e\n']) stream.write(record);
    answer(undefined);
    clock.advance(100);
    answer(undefined, 4);
    answer('ENOSPC');
    expect(stream.dropped()).toBe(2);
    clock.advance(1000);
    answer(undefined);
    expect(written()).toBe('0\na\nbc\n2 dropped\n');
  });

  it('waits for room without dropping what is being written when there is none at the moment', () => {
    const { stream, answer, written, clock } = setUp();
    stream.write('a\n');
    answer('EAGAIN');
    clock.advance(100);
    answer(undefined);
    expect(written()).toBe('a\n');
    expect(stream.dropped()).toBe(0);
  });

  it('keeps a bounded amount without a reader, drops the rest, and logs the number when a reader returns', () => {
    const { stream, answer, written, clock } = setUp(4);
    for (const record of ['a\n', 'b\n', 'c\n', 'd\n', 'e\n']) stream.write(record);
    expect(stream.dropped()).toBe(2);
    answer(undefined);
    answer(undefined);
    clock.advance(100);
    answer(undefined);
    expect(written()).toBe('a\n2 dropped\nb\nc\n');
  });

  it('closes when everything is written', async () => {
    const { stream, answer, written, clock } = setUp();
    stream.write('a\n');
    stream.write('b\n');
    const closed = stream.close(500);
    answer(undefined);
    answer(undefined);
    expect(await closed).toBe(true);
    expect(written()).toBe('a\nb\n');
    expect(clock.armed()).toBe(0);
  });

  it('closes without a wait while it gathers', async () => {
    const { stream, answer, written, clock } = setUp();
    stream.write('a\n');
    answer(undefined);
    stream.write('b\n');
    const closed = stream.close(500);
    answer(undefined);
    expect(await closed).toBe(true);
    expect(written()).toBe('a\nb\n');
    expect(clock.armed()).toBe(0);
  });

  it('closes after the time it was given when a write does not end, and says so', async () => {
    const { stream, clock } = setUp();
    stream.write('a\n');
    const closed = stream.close(500);
    clock.advance(500);
    expect(await closed).toBe(false);
    expect(clock.armed()).toBe(0);
  });

  it('closes at once, with nothing armed, when writing fails', async () => {
    const { stream, answer, clock } = setUp();
    stream.write('a\n');
    const closed = stream.close(500);
    answer('ENOSPC');
    expect(await closed).toBe(true);
    stream.write('b\n');
    expect(stream.dropped()).toBe(2);
    expect(clock.armed()).toBe(0);
  });

  it('hands what waits to the last attempt at the exit', () => {
    const { stream, answer, lastWords } = setUp();
    for (const record of ['a\n', 'b\n', 'c\n']) stream.write(record);
    stream.writeNow();
    expect(lastWords).toEqual(['b\nc\n']);
    answer(undefined);
    stream.write('d\n');
    stream.writeNow();
    expect(lastWords).toEqual(['b\nc\n', 'd\n']);
  });
});
