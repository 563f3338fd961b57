import { beforeEach, describe, expect, it } from 'vitest';
import type { PickAnswer } from './picker.ts';
import { type ByteBudget, createByteBudget } from '../../gateway/extproc/byte-budget.ts';
import type { Call } from '../../gateway/extproc/call.ts';
import { PickedExchange } from './picked-exchange.ts';
import { type BodyMode, bodyResponse, headersResponse, type PickerMessage, streamedBody } from './picker-wire.ts';

const endpoint = '10.0.0.1:8000';
const mebibyte = 1024 * 1024;

let written: object[];
let ends: string[];
let budget: ByteBudget;
let answer: PromiseWithResolvers<PickAnswer>;
let exchange: PickedExchange;

beforeEach(() => {
  written = [];
  ends = [];
  budget = createByteBudget(20 * mebibyte);
  answer = Promise.withResolvers();
  const call: Call = {
    write: () => true,
    onRoom: (run) => run(),
    traceparent: () => undefined,
    readMore: () => undefined,
    end: () => ends.push('end'),
    fail: () => ends.push('fail'),
  };
  exchange = new PickedExchange(call, {
    ...{ picker: { pick: () => answer.promise }, sender: 'gateway', budget },
    write: (response) => {
      written.push(response);
      return Buffer.alloc(0);
    },
  });
});

const head = (mode: BodyMode): PickerMessage => ({
  ...{ kind: 'request-headers', headers: new Map(), endOfStream: false, subset: undefined },
  modes: { request: mode, response: mode },
});
const piece = (text: string, endOfStream = false): PickerMessage => ({
  ...{ kind: 'request-body', body: Buffer.from(text), endOfStream },
});
const trailers: PickerMessage = { kind: 'request-trailers' };

/** The gateway sends all of this before its endpoint is picked. */
async function sendThenPick(...messages: readonly PickerMessage[]): Promise<void> {
  for (const message of messages) exchange.message(message);
  answer.resolve({
    kind: 'picked',
    endpoints: [endpoint],
    answer: { head: () => undefined, body: () => undefined, ended: () => undefined },
  });
  await answer.promise;
}

const long = 'x'.repeat(11 * mebibyte);
const passed = { request_body: {} };
const pickedHead = headersResponse('request', [endpoint]);
const [emptyHead, emptyTrailers] = [{ request_headers: {} }, { request_trailers: {} }];

describe('what a gateway sends while its endpoint is picked', () => {
  it.each([
    [
      'trailers after a buffered body',
      [head('buffered'), piece('{}'), trailers],
      [emptyHead, bodyResponse('request', [endpoint]), emptyTrailers],
    ],
    [
      'pieces and trailers of a body that is not waited for',
      [head('streamed'), piece('a'), piece('b'), trailers],
      [pickedHead, passed, passed, emptyTrailers],
    ],
    [
      'pieces after a body and its trailers',
      [head('full-duplex'), piece('{}'), trailers, piece('more')],
      [pickedHead, streamedBody('request', new TextEncoder().encode('{}'), false), emptyTrailers],
    ],
  ])('goes on after the body so far: %s', async (_, messages, responses) => {
    await sendThenPick(...messages);
    expect(written).toEqual(responses);
  });

  it('goes on after the body so far: further pieces of a body that is too long', async () => {
    await sendThenPick(head('full-duplex'), piece(long), piece('middle'), piece('end', true));
    expect(written[0]).toEqual(pickedHead);
    expect(written.slice(-2)).toEqual([
      streamedBody('request', Buffer.from('middle'), false),
      streamedBody('request', Buffer.from('end'), true),
    ]);
  });

  it('ends the call if it is too much to hold', async () => {
    await sendThenPick(head('full-duplex'), piece(long), piece(long));
    expect([ends, written, budget.taken()]).toEqual([['fail'], [], 0]);
  });
});
