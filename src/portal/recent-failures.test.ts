import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { sampleStory } from '../../test/support/sample-story.ts';
import type { Story } from '../telemetry/core/story.ts';
import { createRecentFailures } from './recent-failures.ts';
import type { Answers, StoriesPlace } from './services.ts';

type Said = Answers<StoriesPlace & { readonly stories: readonly Story[] }>;

const said = (service: string, ...ids: readonly string[]): Said => ({
  services: [],
  data: [
    {
      service,
      said: {
        ...{ process: service, after: ids.length },
        stories: ids.map((id) =>
          sampleStory({ id, outcome: 'refused', failure: { code: 'rate_limited', status: 429, about: [] } }),
        ),
      },
    },
  ],
});

it('a slow service delays no page: its failures come with a later read, once', async () => {
  const clock = createFakeClock();
  const slow = Promise.withResolvers<Said>();
  let questions = 0;
  const failures = createRecentFailures(
    {
      unsuccessful: () => {
        questions += 1;
        return questions === 1 ? slow.promise : Promise.resolve(said('a'));
      },
    },
    clock,
  );
  const first = failures();
  clock.advance(300);
  expect(await first).toEqual([]);
  clock.advance(1_000);
  const second = failures();
  expect(questions).toBe(1);
  slow.resolve(said('a', 'late'));
  expect((await second).map(({ id }) => id)).toEqual(['late']);
  clock.advance(1_000);
  expect((await failures()).map(({ id }) => id)).toEqual(['late']);
  expect(questions).toBe(2);
});

it('keeps the failures of few services that have left, those that were read last', async () => {
  const clock = createFakeClock();
  let number = 0;
  const failures = createRecentFailures({ unsuccessful: async () => said(`service-${number}`, `of ${number}`) }, clock);
  for (; number < 40; number += 1) {
    await failures();
    clock.advance(1_000);
  }
  number = 40;
  expect((await failures()).map(({ id }) => id)).toEqual(Array.from({ length: 17 }, (_, index) => `of ${24 + index}`));
});
