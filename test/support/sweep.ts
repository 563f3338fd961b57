/** Whether a sweep tries every case, as `npm run test:all` has it. Elsewhere it tries a sample, so that a run ends in minutes. */
const triesAll = process.env['WEIR_TEST_SWEEPS'] === 'all';

/** All cases of a sweep, or every `step`-th of them. */
export function sample<Case>(cases: readonly Case[], step: number): readonly Case[] {
  return triesAll ? cases : cases.filter((_, index) => index % step === 0);
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * Where an answer is cut in two, each place in a run of its own: at every byte, or, in a sample, at every 16th, inside each character of several bytes
 * and around each line ending.
 */
export function cutPlaces(bytes: Uint8Array, upTo: number = bytes.length): readonly number[] {
  const isEnding = (place: number): boolean => bytes[place] === lineFeed || bytes[place] === carriageReturn;
  const isInsideCharacter = (place: number): boolean => ((bytes[place] ?? 0) & 0xc0) === 0x80;
  return Array.from({ length: Math.max(0, Math.min(bytes.length, upTo) - 1) }, (_, index) => index + 1).filter(
    (place) => triesAll || place % 16 === 0 || isInsideCharacter(place) || isEnding(place) || isEnding(place - 1),
  );
}
