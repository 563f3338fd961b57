import { describe, expect, it } from 'vitest';
import { type Circuit, createCircuit } from './circuit.ts';

const newCircuit = (random = 0): Circuit =>
  createCircuit({ random: () => random, failuresInRow: () => 5, openMs: 1000, maxOpenMs: () => 30_000 });

function fail(circuit: Circuit, now: number, times = 1): void {
  for (let time = 0; time < times; time += 1) {
    const ticket = circuit.begin(now);
    if (ticket !== undefined) circuit.failed(ticket, now, { trip: false });
  }
}

function succeed(circuit: Circuit, now: number, times = 1): void {
  for (let time = 0; time < times; time += 1) {
    const ticket = circuit.begin(now);
    if (ticket === undefined) continue;
    circuit.alive(ticket);
    circuit.succeeded(ticket);
  }
}

/** Opens it and lets each probe fail; the moments at which it opened, and at which a probe was due. */
function relapse(circuit: Circuit, times: number): readonly number[] {
  const spans: number[] = [];
  let now = 0;
  fail(circuit, now, 5);
  for (let time = 0; time < times; time += 1) {
    const opened = now;
    while (circuit.state(now) === 'open') now += 100;
    spans.push(now - opened);
    fail(circuit, now);
  }
  return spans;
}

describe('a circuit', () => {
  it('opens at the fifth failure in a row', () => {
    const circuit = newCircuit();
    fail(circuit, 0, 4);
    expect(circuit.state(0)).toBe('closed');
    fail(circuit, 0);
    expect([circuit.state(0), circuit.isEjected(0), circuit.begin(0)]).toEqual(['open', true, undefined]);
  });

  it('counts from one again after a success', () => {
    const circuit = newCircuit();
    fail(circuit, 0, 4);
    succeed(circuit, 0);
    fail(circuit, 0, 4);
    expect(circuit.state(0)).toBe('closed');
  });

  it('opens at once when more speaks against it', () => {
    const circuit = newCircuit();
    const ticket = circuit.begin(0);
    if (ticket !== undefined) circuit.failed(ticket, 0, { trip: true });
    expect(circuit.state(0)).toBe('open');
  });

  it('stays open for a second, then lets exactly one probe through', () => {
    const circuit = newCircuit();
    fail(circuit, 0, 5);
    expect(circuit.state(999)).toBe('open');
    expect(circuit.state(1000)).toBe('probe');
    expect(circuit.begin(1000)).toMatchObject({ probe: true });
    expect([circuit.state(1000), circuit.begin(1000), circuit.probing(1000)]).toEqual(['open', undefined, true]);
    // What asks whether it had better leave may be the probe.
    expect(circuit.isEjected(1000)).toBe(false);
  });

  it('doubles its time with each probe that fails, up to half a minute', () => {
    expect(relapse(newCircuit(), 7)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('adds up to a quarter by chance', () => {
    expect(relapse(newCircuit(0.999), 2)).toEqual([1300, 2500]);
  });

  it('closes with the first sign of life of its probe, on trial', () => {
    const circuit = newCircuit();
    fail(circuit, 0, 5);
    const probe = circuit.begin(1000);
    expect(probe !== undefined && circuit.alive(probe)).toBe(true);
    expect(circuit.state(1000)).toBe('closed');
    // A stream that begins and breaks off is no success: one failure is enough now, and the time is doubled.
    if (probe !== undefined) circuit.failed(probe, 1500, { trip: false });
    expect([circuit.state(3400), circuit.state(3500)]).toEqual(['open', 'probe']);
  });

  it.each([
    [4, 2000],
    [5, 1000],
  ])('after %i successes, the next outage lasts %i ms', (successes, span) => {
    const circuit = newCircuit();
    fail(circuit, 0, 5);
    succeed(circuit, 1000, successes);
    fail(circuit, 5000, 5);
    expect([circuit.state(4999 + span), circuit.state(5000 + span)]).toEqual(['open', 'probe']);
  });

  it('has its probe made again when the first one says nothing', () => {
    const circuit = newCircuit();
    fail(circuit, 0, 5);
    const probe = circuit.begin(1000);
    if (probe !== undefined) circuit.released(probe);
    expect(circuit.state(1000)).toBe('probe');
  });

  it('takes no notice of what was begun before it opened', () => {
    const circuit = newCircuit();
    const [late, later, latest] = [circuit.begin(0), circuit.begin(0), circuit.begin(0)];
    fail(circuit, 0, 5);
    circuit.begin(1000);
    if (late !== undefined) circuit.failed(late, 1000, { trip: true });
    if (later !== undefined) expect(circuit.alive(later)).toBe(false);
    if (latest !== undefined) circuit.released(latest);
    expect(circuit.probing(1000)).toBe(true);
  });
});
