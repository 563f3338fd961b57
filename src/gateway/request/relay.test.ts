import { describe, expect, it } from 'vitest';
import { dialects } from '../dialects/dialects.ts';
import { keepAlive, relayAnswer } from './relay.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createFakeExchange } from '../../../test/support/fake-exchange.ts';

function begin() {
  const clock = createFakeClock();
  const spokeAt: number[] = [];
  const alive = keepAlive({ clock, keepAliveMs: 1000, speak: () => spokeAt.push(clock.elapsed()) });
  return { clock, spokeAt, alive };
}

describe('keeping an answer alive', () => {
  it('speaks after each stretch of silence', () => {
    const { clock, spokeAt } = begin();
    clock.advance(3500);
    expect(spokeAt).toEqual([1000, 2000, 3000]);
  });

  it('waits anew after anything that was sent', () => {
    const { clock, spokeAt, alive } = begin();
    clock.advance(700);
    alive.sent();
    clock.advance(999);
    expect(spokeAt).toEqual([]);
    clock.advance(1);
    expect(spokeAt).toEqual([1700]);
  });

  it('has one timer, however much is sent', () => {
    const { clock, alive } = begin();
    for (let sent = 0; sent < 100; sent += 1) {
      alive.sent();
      clock.advance(10);
      expect(clock.armed()).toBe(1);
    }
  });

  it('leaves no timer when it is stopped', () => {
    const { clock, spokeAt, alive } = begin();
    clock.advance(1500);
    alive.stop();
    clock.advance(10_000);
    expect({ armed: clock.armed(), spokeAt }).toEqual({ armed: 0, spokeAt: [1000] });
  });

  it('can be stopped by `speak`', () => {
    const clock = createFakeClock();
    const alive = keepAlive({ clock, keepAliveMs: 1000, speak: () => alive.stop() });
    clock.advance(5000);
    expect(clock.armed()).toBe(0);
  });
});

it.each([true, false])('an answer without output ends, too (stream: %s)', (stream) => {
  const exchange = createFakeExchange();
  const relay = relayAnswer({
    ...{ exchange, dialect: dialects.chat, identity: { id: 'a', created: 0, model: 'm' }, headers: [] },
    request: { stream, inert: [], includeUsage: true, sampling: {} },
    ...{ clock: createFakeClock(), keepAliveMs: 1000 },
  });
  void relay.finish({ usage: { promptTokens: 0, completionTokens: 0 }, cost: 0n });
  expect({ status: exchange.status(), endings: exchange.endings() }).toEqual({ status: 200, endings: 1 });
});
