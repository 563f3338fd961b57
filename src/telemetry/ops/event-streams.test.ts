import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { recordStory } from '../../../test/support/record-story.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { sampleProblem, sampleReport } from '../../../test/support/sample-problem.ts';
import type { Problem } from '../../control/core/problem.ts';
import type { StoryPage } from '../core/story.ts';
import { createStories } from '../stories/stories.ts';
import { createEventStreams } from './event-streams.ts';

function setUp() {
  const clock = createFakeClock();
  const stories = createStories({ process: 'p1' });
  const problems: Problem[] = [];
  const streams = createEventStreams({ stories, problems: () => sampleReport(problems) }, clock);
  const complete = (count: number): void => {
    for (let at = 0; at < count; at += 1) {
      const requestId = `r${stories.latest().seq + 1}`;
      const request = recordStory(stories, clock, { requestId });
      request.progress({ kind: 'settled', outcome: sampleOutcome({ requestId }) });
      request.progress({ kind: 'ended', failure: undefined });
    }
  };
  /** `body` is read when the portal reads. */
  const open = (lastEventId?: string, changes: object = {}) => {
    const body = Object.assign(new PassThrough(), { writeHead: () => undefined });
    for (const [name, value] of Object.entries(changes)) Object.defineProperty(body, name, { value });
    streams.open(body as unknown as ServerResponse, lastEventId);
    return body;
  };
  return { clock, problems, complete, open };
}

/** The text that a portal reads at once, and its events. */
function read(body: PassThrough) {
  const text = String(body.read() ?? '');
  const events = [...text.matchAll(/event: (\w+)\n(?:id: (.*)\n)?data: (.*)\n\n/g)];
  const pages = events.flatMap(([, event, id, data = '']) =>
    event === 'requests' ? [{ id, ...(JSON.parse(data) as StoryPage) }] : [],
  );
  const ids = pages.flatMap(({ requests }) => requests.map(({ id }) => id));
  const missed = pages.reduce((sum, page) => sum + page.missed, 0);
  return { text, pages, ids, missed, names: events.map(([, name]) => name) };
}

const buffered = (body: PassThrough): number => body.readableLength + body.writableLength;

describe('the streams of events of a service', () => {
  it('begin with problems and a place, bring what ends together as one page, and are heard each second', () => {
    const { clock, problems, complete, open } = setUp();
    complete(2);
    const body = open();
    expect(read(body)).toMatchObject({ names: ['problems', 'requests'], pages: [{ id: 'p1/2', requests: [] }] });
    complete(3);
    clock.advance(249);
    expect(body.readableLength).toBe(0);
    clock.advance(1);
    expect(read(body)).toMatchObject({ names: ['requests'], ids: ['r3', 'r4', 'r5'], pages: [{ id: 'p1/5' }] });
    clock.advance(1_000);
    expect(read(body).text).toBe(':\n\n');
    problems.push(sampleProblem());
    clock.advance(1_000);
    expect(read(body).names).toEqual(['problems']);
    clock.advance(1_000);
    expect(read(body).text).toBe(':\n\n');
  });

  it('continue after the last page, and begin anew for the id of another process', () => {
    const { complete, open } = setUp();
    complete(3);
    expect(read(open('p1/1')).ids).toEqual(['r2', 'r3']);
    for (const id of ['p0/2', '/0', 'p1', 'p1/x', '']) expect(read(open(id)).ids, id).toEqual(['r1', 'r2', 'r3']);
    expect(read(open('p1/99')).pages).toMatchObject([{ id: 'p1/3', missed: 0 }]);
  });

  /** 5,000 requests end while the portal reads nothing. */
  function flood(changes: object = {}) {
    const parts = setUp();
    const body = parts.open(undefined, changes);
    for (let round = 0; round < 50; round += 1) {
      parts.complete(100);
      parts.clock.advance(250);
    }
    return { ...parts, body };
  }

  it('hold one page for a portal that reads nothing, and count what it missed', async () => {
    const { clock, body } = flood();
    expect(buffered(body)).toBeLessThan(500_000);
    const seen = [read(body)];
    await expect
      .poll(() => {
        clock.advance(1_000);
        seen.push(read(body));
        return seen.reduce((sum, { ids, missed }) => sum + ids.length + missed, 0);
      })
      .toBe(5_000);
    expect(seen.flatMap(({ ids }) => ids).at(-1)).toBe('r5000');
  });

  it('would hold all pages, if what the portal has not read were no reason to wait (the twin)', () => {
    const { body } = flood({ writableNeedDrain: false });
    expect(buffered(body)).toBeGreaterThan(5_000_000);
  });

  it('are sixteen at most: a newer one ends the oldest; without any, no timer runs', async () => {
    const { clock, open } = setUp();
    const bodies = Array.from({ length: 17 }, () => open());
    expect(bodies.map(({ writableEnded }) => writableEnded)).toEqual([true, ...Array(16).fill(false)]);
    expect(clock.armed()).toBe(1);
    for (const body of bodies) body.destroy();
    await expect.poll(clock.armed).toBe(0);
  });
});
