// @suite apart
/** What traces and stories keep of a request. */
import { describe, expect, it } from 'vitest';
import { type EndedSpan, readTraceparent, type RequestTrace, writeTraceparent } from '../../core/trace.ts';
import { createStories } from '../../telemetry/stories/stories.ts';
import { keptHeap } from '../../../test/support/kept-heap.ts';
import { authorized, askStream, events, wholeStream, begin, settle } from '../../../test/support/pipeline-run.ts';

describe('a trace', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const span = (id: number, isSampled: boolean) => ({ traceId, spanId: String(id).padStart(16, '0'), isSampled });

  /** A run whose spans have the ids 1, 2, … */
  function traced(isSampled: boolean) {
    const spans: EndedSpan[] = [];
    const stories = createStories({ process: 'p', tellSpans: (told) => spans.push(...told) });
    let made = 1;
    const place = span(1, isSampled);
    const child = () => (isSampled ? span((made += 1), isSampled) : place);
    const traceOf = (): RequestTrace => ({ place, parentId: 'edge', child });
    const run = begin({ stories, traceOf });
    const sent = (number: number) => readTraceparent(run.upstream.calls[number]?.call.traceparent ?? '');
    return { run, spans, sent };
  }

  it('that is sampled goes on to each engine under the span of its attempt, and is named in the record of its end', async () => {
    const { run, spans, sent } = traced(true);
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).fail('ECONNREFUSED');
    (await run.upstream.called(1)).answer(events, wholeStream);
    await exchange.answered;
    await settle();
    const attempts = spans.filter(({ kind }) => kind === 'client');
    expect(attempts).toMatchObject([
      { parentId: span(1, true).spanId, attributes: { 'error.type': 'connect', 'weir.attempt.reason': 'first' } },
      {
        parentId: span(1, true).spanId,
        attributes: {
          'weir.attempt.reason': 'failover',
          'gen_ai.usage.input_tokens': 12,
          'gen_ai.usage.output_tokens': 2,
          'gen_ai.response.model': 'up/x',
          'gen_ai.response.finish_reasons': ['stop'],
        },
      },
    ]);
    expect([sent(0)?.spanId, sent(1)?.spanId]).toEqual(attempts.map(({ spanId }) => spanId));
    expect(spans.map(({ name }) => name.replace(/ .*/, ''))).toEqual(
      expect.arrayContaining(['admission', 'receive', 'read', 'plan', 'settle', 'commit']),
    );
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(run.ends).toMatchObject([{ traceId }]);
    expect(JSON.stringify(spans)).not.toMatch(/CANARY|sk-weir/);
  });

  it('that is not sampled makes no span and goes on to engines as it came', async () => {
    const { run, spans } = traced(false);
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).answer(events, wholeStream);
    await exchange.answered;
    await settle();
    expect(spans).toEqual([]);
    expect(run.upstream.calls[0]?.call.traceparent).toBe(writeTraceparent(span(1, false)));
    expect(run.ends).toMatchObject([{ traceId: undefined }]);
  });

  it('that is not made sends engines no header', async () => {
    const run = begin();
    const exchange = run.send({ body: JSON.stringify(askStream) });
    (await run.upstream.called(0)).answer(events, wholeStream);
    await exchange.answered;
    expect(run.upstream.calls[0]?.call).not.toHaveProperty('traceparent');
  });
});

describe('the stories of requests', () => {
  it('keep a few kilobytes of each request, and no body', async () => {
    const stories = createStories({ process: 'p1' });
    const bodies: string[] = [];
    /** Bytes of the heap that are needed after so many requests, each with a prompt of 200 KB. */
    async function heapAfter(requests: number, keep: (body: string) => void): Promise<number> {
      for (let at = 0; at < requests; at += 1) {
        const run = begin({ stories });
        const content = `${at} `.repeat(200_000).slice(0, 200_000);
        const body = JSON.stringify({ ...askStream, messages: [{ role: 'user', content }] });
        keep(body);
        const exchange = run.send({ body, headers: { ...authorized, 'x-request-id': `corr-${at}` } });
        (await run.upstream.called(0)).answer(events, wholeStream);
        await exchange.answered;
        // Every run has the same ids: this one is over before the next begins.
        await settle();
      }
      return keptHeap();
    }
    // The first requests fill what the test itself and the compiler keep.
    const before = await heapAfter(100, () => undefined);
    const after = await heapAfter(100, () => undefined);
    expect((after - before) / 100).toBeLessThan(16 * 1024);
    // The twin: bodies that are kept show.
    expect(((await heapAfter(100, (body) => bodies.push(body))) - after) / 100).toBeGreaterThan(150 * 1024);
    expect([bodies.length, stories.after(0, 1000).requests.length]).toEqual([100, 300]);
    expect(stories.find('corr-99')[0]).toMatchObject({
      ...{ outcome: 'completed', model: 'demo/tiny', attempts: [{ backend: expect.any(String), end: 'complete' }] },
      plan: { routes: [{ state: 'available' }, { state: 'available' }] },
    });
  });
});
