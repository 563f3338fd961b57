import { describe, expect, it } from 'vitest';
import { createOtherTraffic } from './other-traffic.ts';

const nothing = { running: 0, waiting: 0 };
const noneKnown = { underWay: 0, unanswered: 0 };

describe('other traffic of an engine', () => {
  it.each([
    ['all, where nothing is known', { running: 3, waiting: 5 }, noneKnown, { running: 3, waiting: 5 }],
    ['none, where all is known', { running: 3, waiting: 5 }, { underWay: 8, unanswered: 5 }, nothing],
    ['none, where more is known', { running: 3, waiting: 0 }, { underWay: 8, unanswered: 1 }, nothing],
    [
      'the rest, if the own ones may wait',
      { running: 4, waiting: 5 },
      { underWay: 6, unanswered: 4 },
      { running: 2, waiting: 1 },
    ],
    [
      'the waiting ones, if the own ones run',
      { running: 4, waiting: 5 },
      { underWay: 4, unanswered: 0 },
      { running: 0, waiting: 5 },
    ],
    [
      'no more than is not known',
      { running: 0, waiting: 5 },
      { underWay: 4, unanswered: 0 },
      { running: 0, waiting: 1 },
    ],
  ])('is %s', (_, load, known, others) => {
    const traffic = createOtherTraffic();
    traffic.reported(1000, load, known);
    traffic.reported(2000, load, known);
    expect(traffic.at(2000)).toEqual(others);
  });

  it("is what two reports in a row show, so that a request between two counts is nobody else's", () => {
    const traffic = createOtherTraffic();
    expect(traffic.at(0)).toEqual(nothing);
    traffic.reported(1000, { running: 4, waiting: 2 }, noneKnown);
    expect(traffic.at(1000)).toEqual(nothing);
    traffic.reported(2000, { running: 3, waiting: 6 }, noneKnown);
    expect(traffic.at(2000)).toEqual({ running: 3, waiting: 2 });
    traffic.reported(3000, nothing, noneKnown);
    expect(traffic.at(3000)).toEqual(nothing);
  });

  it('is nothing when the last report is older than five seconds', () => {
    const traffic = createOtherTraffic();
    const load = { running: 3, waiting: 5 };
    traffic.reported(1000, load, noneKnown);
    traffic.reported(2000, load, noneKnown);
    expect(traffic.at(7000)).toEqual(load);
    expect(traffic.at(7001)).toEqual(nothing);
    traffic.reported(8000, load, noneKnown);
    expect(traffic.at(8000)).toEqual(nothing);
  });
});
