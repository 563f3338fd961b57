// @suite waits
import { expect, test } from 'vitest';
import { failuresIn, type Phase } from './support/hostile/play-phases.ts';
import { liveNeighbours, runHostilePortal } from './support/hostile-portal/hostile-portal.ts';
import type { PortalAttackName } from './support/hostile-portal/portal-attacks.ts';
import { portalReportOf } from './support/hostile-portal/portal-report.ts';

/** Long enough for the limits that are times: 10 s for a head, 20 s for a head and a body, looked at every 2 s. */
const attackSeconds: Readonly<Record<PortalAttackName, number>> = {
  'event streams': 4,
  'HEAD of events': 3,
  'endless bodies': 24,
  'endless heads': 14,
  'bracket bombs': 3,
  'bracket bombs of 1 MB': 3,
  'lists of requests': 3,
  'wrong tokens': 4,
};
/** docs/reference/limits.md, "The portal". */
const limits = { connectionsOfAddress: 500, streamsOfSession: 8, failedSignIns: 30 };
/** Connections of the neighbours: a live page each, and what they read with; and those that read the metrics. */
const otherConnections = 30;

test(
  'members of the portal see no failure beside one attacker of each kind, and see one when the portal dies',
  { timeout: 300_000 },
  async () => {
    const attacked = Object.entries(attackSeconds).map(([name, seconds]): Phase => ({
      name,
      seconds,
      attacks: [name],
    }));
    const phases = await runHostilePortal({
      // The last phase is the twin: neighbours that see no failure there would see none at all.
      phases: [
        { name: 'quiet', attacks: [], seconds: 3 },
        ...attacked,
        { name: 'killed', attacks: [], seconds: 3, harm: 'kill' },
      ],
      neighboursPerSecond: 10,
      report: () => undefined,
    });
    const report = portalReportOf(phases);
    const found = (name: PortalAttackName | 'quiet' | 'killed') => {
      const figures = phases.find(({ phase }) => phase.name === name);
      if (figures === undefined) throw new Error(`there was no phase "${name}"`);
      return { portal: figures.watched, attacker: figures.attackers[name] ?? {} };
    };
    for (const figures of phases) {
      if (figures.phase.harm === 'kill') expect(failuresIn(figures), report).toBeGreaterThan(0);
      else expect([figures.phase.name, failuresIn(figures)], report).toEqual([figures.phase.name, 0]);
    }

    const readers = found('event streams');
    expect(readers.portal.eventReaders, report).toBeLessThanOrEqual(liveNeighbours + limits.streamsOfSession);
    // The portal ends the oldest stream; the attacker never does.
    expect(readers.attacker['200'], report).toBeGreaterThan(limits.streamsOfSession);
    const heads = found('HEAD of events');
    expect(Object.keys(heads.attacker).toSorted(), report).toEqual(['404', 'opened']);
    expect(heads.portal.eventReaders, report).toBeLessThanOrEqual(liveNeighbours);

    for (const name of ['endless bodies', 'endless heads'] as const) {
      const { portal, attacker } = found(name);
      expect(portal.connections, report).toBeLessThanOrEqual(limits.connectionsOfAddress + otherConnections);
      // The surplus is refused at once, and those that were let in are ended when their time is over.
      expect(attacker['closed'], report).toBeGreaterThan(0);
      expect(attacker['408'], report).toBeGreaterThanOrEqual(limits.connectionsOfAddress);
    }
    expect(Object.keys(found('bracket bombs').attacker).toSorted(), report).toEqual(['400', 'opened']);
    // A connection that is refused while its body still arrives may be reset before the answer is read.
    const bombs = Object.keys(found('bracket bombs of 1 MB').attacker).filter((became) => became !== 'closed');
    expect(bombs.toSorted(), report).toEqual(['413', 'opened']);
    expect(found('lists of requests').attacker['200'], report).toBeGreaterThan(0);
    const { attacker } = found('wrong tokens');
    expect(attacker['401'], report).toBe(limits.failedSignIns);
    expect(attacker['429'], report).toBeGreaterThan(0);
  },
);
