// @suite alone
import { expect, test } from 'vitest';
import { failuresIn } from './support/hostile/play-phases.ts';
import { attackNames } from './support/hostile-traffic/attacks.ts';
import { runHostileTraffic } from './support/hostile-traffic/hostile-run.ts';
import { reportOf } from './support/hostile-traffic/report.ts';

test(
  'neighbours of one attacker of each kind see no failure, and see one when the service dies',
  { timeout: 300_000 },
  async () => {
    const phases = await runHostileTraffic({
      phases: [
        { name: 'quiet', attacks: [], seconds: 12 },
        // Longer than the 20 s after which an upload without bytes is ended: the attackers come again.
        { name: 'attacked', attacks: attackNames, seconds: 26 },
        // Who sees no failure here would see none at all.
        { name: 'killed', attacks: [], seconds: 3, harm: 'kill' },
      ],
      neighboursPerSecond: 12,
      report: () => undefined,
    });
    const [quiet, attacked, killed] = phases;
    if (quiet === undefined || attacked === undefined || killed === undefined) throw new Error('a phase is missing');
    const report = reportOf(phases);
    expect(quiet.neighbours.requests, report).toBeGreaterThan(100);
    expect([failuresIn(quiet), failuresIn(attacked)], report).toEqual([0, 0]);
    // Twice the quiet one is what `npm run hostile` asks of a machine of its own; here other tests may be at work.
    expect(attacked.neighbours.p99Ms, report).toBeLessThan(Math.max(5 * quiet.neighbours.p99Ms, 5_000));
    expect(failuresIn(killed), report).toBeGreaterThan(0);
    for (const name of Object.keys(attacked.attackers)) {
      expect(
        Object.values(attacked.attackers[name] ?? {}).reduce((sum, count) => sum + count, 0),
        name,
      ).toBeGreaterThan(0);
    }
    // A surface that is off would refuse all bodies, and hold none of the honest callers up.
    const ofBodies = attacked.attackers['hostile bodies'] ?? {};
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      expect([ofBodies[`${path} 200`], ofBodies[`${path} 400`]], report).toEqual([
        expect.any(Number),
        expect.any(Number),
      ]);
      expect(ofBodies[`${path} 404`], report).toBeUndefined();
    }
  },
);
