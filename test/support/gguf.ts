import { readFileSync, writeFileSync } from 'node:fs';

// The tiny model of the real llama-server in other weights, so that a test has a twin, a quantised one, and a stranger. The
// format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

/** A matrix or vector of the model, all of which are float32. */
interface Tensor {
  readonly name: string;
  /** The length of a row comes first. */
  readonly dimensions: readonly number[];
  readonly values: Float32Array;
}

/** Writes a copy of a model whose weights are float32. `q4_0`: every matrix in four bits. `reversed`: its words mean others. */
export function rewriteModel(from: string, to: string, how: 'q4_0' | 'reversed'): void {
  const { head, tensors } = readModel(readFileSync(from));
  const written = tensors.map((tensor) => ({ tensor, ...writtenTensor(tensor, how) }));
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const { tensor, type, bytes } of written) {
    infos.push(tensorInfo(tensor, type, offset));
    const padded = padding(bytes.length);
    data.push(bytes, Buffer.alloc(padded));
    offset += bytes.length + padded;
  }
  const front = Buffer.concat([head, ...infos]);
  writeFileSync(to, Buffer.concat([front, Buffer.alloc(padding(front.length)), ...data]));
}

const alignment = 32;
const padding = (length: number): number => (alignment - (length % alignment)) % alignment;
const types = { f32: 0, q4_0: 2 } as const;

function writtenTensor(tensor: Tensor, how: 'q4_0' | 'reversed'): { readonly type: number; readonly bytes: Buffer } {
  if (how === 'q4_0' && tensor.dimensions.length > 1) return { type: types.q4_0, bytes: inFourBits(tensor.values) };
  const values = how === 'reversed' && tensor.name === 'token_embd.weight' ? tensor.values.toReversed() : tensor.values;
  return { type: types.f32, bytes: Buffer.from(values.buffer, values.byteOffset, values.byteLength) };
}

const blockLength = 32;

/** Blocks of 32 values: a scale as float16, then half a byte for each. The largest value of a block is -8 times the scale. */
function inFourBits(values: Float32Array): Buffer {
  const bytes = Buffer.alloc((values.length / blockLength) * 18);
  for (let block = 0; block * blockLength < values.length; block += 1) {
    const part = values.subarray(block * blockLength, (block + 1) * blockLength);
    const largest = part.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);
    const scale = largest / -8;
    const code = (value = 0): number => (scale === 0 ? 8 : Math.min(15, Math.trunc(value / scale + 8.5)));
    new DataView(bytes.buffer, bytes.byteOffset).setFloat16(block * 18, scale, true);
    for (let at = 0; at < blockLength / 2; at += 1) {
      bytes[block * 18 + 2 + at] = code(part[at]) | (code(part[at + blockLength / 2]) << 4);
    }
  }
  return bytes;
}

function tensorInfo({ name, dimensions }: Tensor, type: number, offset: number): Buffer {
  const text = Buffer.from(name);
  const bytes = Buffer.alloc(8 + text.length + 4 + dimensions.length * 8 + 4 + 8);
  let at = bytes.writeBigUInt64LE(BigInt(text.length));
  at += text.copy(bytes, at);
  at = bytes.writeUInt32LE(dimensions.length, at);
  for (const length of dimensions) at = bytes.writeBigUInt64LE(BigInt(length), at);
  at = bytes.writeUInt32LE(type, at);
  bytes.writeBigUInt64LE(BigInt(offset), at);
  return bytes;
}

/** What stands before the descriptions of the tensors, and the tensors. */
function readModel(file: Buffer): { readonly head: Buffer; readonly tensors: readonly Tensor[] } {
  let at = 8;
  const number = (): number => Number(file.readBigUInt64LE((at += 8) - 8));
  const small = (): number => file.readUInt32LE((at += 4) - 4);
  const text = (): string => {
    const length = number();
    return file.toString('utf8', at, (at += length));
  };
  const tensorCount = number();
  for (let left = number(); left > 0; left -= 1) {
    text();
    skipValue(small());
  }
  const head = file.subarray(0, at);
  const found = Array.from({ length: tensorCount }, () => {
    const name = text();
    const dimensions = Array.from({ length: small() }, number);
    if (small() !== types.f32) throw new Error(`${name} is not float32`);
    return { name, dimensions, offset: number() };
  });
  const start = at + padding(at);
  return {
    head,
    tensors: found.map(({ name, dimensions, offset }) => {
      const length = dimensions.reduce((product, one) => product * one, 1);
      const bytes = Uint8Array.from(file.subarray(start + offset, start + offset + length * 4));
      return { name, dimensions, values: new Float32Array(bytes.buffer) };
    }),
  };

  function skipValue(type: number): void {
    if (type === 8) text();
    else if (type === 9) {
      const of = small();
      for (let left = number(); left > 0; left -= 1) skipValue(of);
    } else at += valueBytes[type] ?? 8;
  }
}

/** Bytes of a value by its type: integers of 1 to 4 bytes, float32 and booleans; the others have 8. */
const valueBytes = [1, 1, 2, 2, 4, 4, 4, 1];
