import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { boundConnections, boundsWithin, portBounds, type PortBounds } from './port-bounds.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly remoteAddress: string | undefined;
  isBusy = false;

  constructor(remoteAddress: string | undefined) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function boundedServer(bounds: Partial<PortBounds>) {
  const server = new EventEmitter();
  const { counts } = boundConnections<FakeSocket>(server, {
    bounds: { ...portBounds.ops, ...bounds },
    isBusy: (socket) => socket.isBusy,
  });
  const open = (address: string | undefined, isBusy = false): FakeSocket => {
    const socket = new FakeSocket(address);
    socket.isBusy = isBusy;
    server.emit('connection', socket);
    return socket;
  };
  return { counts, open };
}

describe('the connections of a port', () => {
  it('of one address are refused beyond its bound, and those of a neighbour are not', () => {
    const { open, counts } = boundedServer({ maxPerAddress: 2 });
    expect(['a', 'a', 'a', 'b'].map((address) => open(address).destroyed)).toEqual([false, false, true, false]);
    expect(counts()).toEqual({ open: 3, refused: { address: 1, total: 0 } });
  });

  it('are counted down when they close', () => {
    const { open } = boundedServer({ maxPerAddress: 1 });
    open('a').destroy();
    expect(open('a').destroyed).toBe(false);
    expect(open('a').destroyed).toBe(true);
  });

  it('beyond those of all take the place of the oldest without a request', () => {
    const { open, counts } = boundedServer({ maxConnections: 3 });
    const busy = open('a', true);
    const silent = [open('b'), open('c')];
    const probe = open('d', true);
    expect([busy, ...silent, probe].map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
    expect(counts().open).toBe(3);
  });

  it('without an address, as over a Unix socket, are bounded only together', () => {
    const { open, counts } = boundedServer({ maxPerAddress: 1, maxConnections: 2 });
    expect([1, 2, 3].map(() => open(undefined, true).destroyed)).toEqual([false, false, true]);
    expect(counts().refused).toEqual({ address: 0, total: 1 });
  });

  it('are refused when all have requests', () => {
    const { open, counts } = boundedServer({ maxConnections: 1 });
    const first = open('a', true);
    expect([open('b').destroyed, first.destroyed]).toEqual([true, false]);
    expect(counts().refused).toEqual({ address: 0, total: 1 });
  });
});

it.each([
  [undefined, 256, 64],
  [1_048_576, 256, 64],
  [1_024, 128, 64],
  [400, 50, 25],
  [20, 8, 4],
])('with %s files a port has %s connections, and an address %s', (files, maxConnections, maxPerAddress) => {
  expect(boundsWithin(portBounds.ops, files)).toMatchObject({ maxConnections, maxPerAddress });
});
