import { type FailoverRecording, readRecording } from './failover-recording.ts';

const width = 860;
const height = 512;
/** How long the end stays before the picture begins again. */
const holdMs = 6_000;
const columns = 84;
const lineHeight = 23;

/** The ground is part of the picture, so that it reads the same on a light and on a dark page. */
const colours = {
  ...{ ground: '#10151d', panel: '#171e28', border: '#3a4350', text: '#e6edf3', quiet: '#9aa6b2' },
  ...{ a: '#79c0ff', b: '#56d364', failed: '#ff7b72' },
} as const;

/** Where the time line lies, and what is above it. */
const terminal = { top: 176, left: 30, width: 800, height: 242 } as const;
const timeline = { top: 460, left: 56, width: 748 } as const;

/** What is shown from one moment to another; without an end it stays. Times are of the recording. */
interface Shown {
  readonly fromMs: number;
  readonly untilMs?: number;
}

/** The stylesheet of the picture while it is drawn: a rule for each moment at which something appears. */
interface Moments {
  /** The attributes of an element that is there only then. */
  readonly shown: (when: Shown) => string;
  readonly css: () => string;
}

function createMoments(totalMs: number): Moments {
  const rules = new Map<string, string>();
  const percent = (ms: number): string => `${((ms / totalMs) * 100).toFixed(2)}%`;
  return {
    shown: ({ fromMs, untilMs }) => {
      const name = `m${Math.round(fromMs)}${untilMs === undefined ? '' : `-${Math.round(untilMs)}`}`;
      const begins =
        fromMs === 0 ? '0%{visibility:visible}' : `0%{visibility:hidden}${percent(fromMs)}{visibility:visible}`;
      const ends = untilMs === undefined ? '' : `${percent(untilMs)}{visibility:hidden}`;
      rules.set(name, `@keyframes ${name}{${begins}${ends}}`);
      // Without animations the picture shows the end.
      return `class="moment" style="animation-name:${name}"${untilMs === undefined ? '' : ' visibility="hidden"'}`;
    },
    css: () => [...rules.values()].join('\n'),
  };
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

interface Writing {
  readonly x: number;
  readonly y: number;
  readonly fill?: string;
  readonly size?: number;
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly weight?: number;
}

function write(
  text: string,
  { x, y, fill = colours.text, size = 13, anchor = 'start', weight = 400 }: Writing,
): string {
  const place = `x="${x}" y="${y}" fill="${fill}" font-size="${size}" text-anchor="${anchor}" font-weight="${weight}"`;
  return `<text ${place}>${escaped(text)}</text>`;
}

type Pieces = FailoverRecording['pieces'];

/** The pieces in lines, broken between words. */
function linesOf(pieces: Pieces): readonly Pieces[] {
  const words: Pieces[] = [];
  for (const piece of pieces) {
    const word = words.at(-1);
    if (word === undefined || piece.text.startsWith(' ')) words.push([piece]);
    else word.push(piece);
  }
  const lines: Pieces[] = [];
  let length = 0;
  for (const word of words) {
    const letters = word.reduce((sum, { text }) => sum + text.length, 0);
    const line = lines.at(-1);
    if (line === undefined || length + letters > columns) {
      lines.push([...word]);
      length = letters;
    } else {
      line.push(...word);
      length += letters;
    }
  }
  return lines;
}

function drawAnswer({ pieces, fromA, question }: FailoverRecording, moments: Moments): string {
  const { top, left } = terminal;
  const lastOfA = pieces[fromA - 1];
  const lines = linesOf(pieces).map((line, index) => {
    const spans = line.map((piece, at) => {
      const isOfA = lastOfA !== undefined && pieces.indexOf(piece) <= pieces.indexOf(lastOfA);
      const text = at === 0 ? piece.text.trimStart() : piece.text;
      const fill = isOfA ? colours.a : colours.b;
      return `<tspan fill="${fill}" ${moments.shown({ fromMs: piece.atMs })}>${escaped(text)}</tspan>`;
    });
    return `<text xml:space="preserve" x="${left + 20}" y="${top + 78 + index * lineHeight}" font-size="15">${spans.join('')}</text>`;
  });
  return `<g class="mono">${write(`> ${question}`, { x: left + 20, y: top + 51, fill: colours.quiet, size: 15 })}${lines.join('\n')}</g>`;
}

/** A box of the upper row with its name, and what it does at each time. */
function box(
  {
    x,
    wide,
    name,
    moments,
  }: { readonly x: number; readonly wide: number; readonly name: string; readonly moments: Moments },
  states: readonly (Shown & { readonly text: string; readonly colour: string })[],
): string {
  const middle = x + wide / 2;
  const drawn = states.map(({ text, colour, ...when }) => {
    const border = `<rect x="${x}" y="62" width="${wide}" height="66" rx="10" fill="${colours.panel}" stroke="${colour}" stroke-width="1.6"/>`;
    const title = write(name, { x: middle, y: 90, size: 15, anchor: 'middle', weight: 600 });
    return `<g ${moments.shown(when)}>${border}${title}${write(text, { x: middle, y: 112, fill: colour, size: 12.5, anchor: 'middle' })}</g>`;
  });
  return drawn.join('\n');
}

function drawParts(recording: FailoverRecording, moments: Moments): string {
  const { pieces, killedAtMs, fromA, endedAtMs } = recording;
  const resumedAtMs = pieces[fromA]?.atMs ?? endedAtMs;
  const [first] = pieces;
  const firstAtMs = first?.atMs ?? 0;
  const flow = (path: string, colour: string, when: Shown): string =>
    `<g ${moments.shown(when)}><path class="flow" d="${path}" stroke="${colour}"/></g>`;
  const pipe = (path: string): string =>
    `<path d="${path}" stroke="${colours.border}" stroke-width="7" fill="none" stroke-linecap="round"/>`;
  const [fromEngineA, fromEngineB, toCaller] = ['M262 95H328', 'M598 95H532', `M430 130V${terminal.top - 6}`];
  const cross = `<path d="M287 87L303 103M303 87L287 103" stroke="${colours.failed}" stroke-width="3.5" stroke-linecap="round"/>`;
  const gone = { fromMs: killedAtMs, untilMs: resumedAtMs };
  return [
    ...[fromEngineA, fromEngineB, toCaller].map(pipe),
    `<g ${moments.shown({ fromMs: killedAtMs })}>${cross}</g>`,
    flow(fromEngineA, colours.a, { fromMs: firstAtMs, untilMs: killedAtMs }),
    flow(toCaller, colours.a, { fromMs: firstAtMs, untilMs: killedAtMs }),
    flow(fromEngineB, colours.b, { fromMs: resumedAtMs, untilMs: endedAtMs }),
    flow(toCaller, colours.b, { fromMs: resumedAtMs, untilMs: endedAtMs }),
    box({ x: 30, wide: 226, name: 'Engine A', moments }, [
      { fromMs: 0, untilMs: killedAtMs, text: 'answers', colour: colours.a },
      { fromMs: killedAtMs, text: `killed with SIGKILL at ${seconds(killedAtMs)}`, colour: colours.failed },
    ]),
    box({ x: 334, wide: 192, name: 'Weir', moments }, [
      { fromMs: 0, untilMs: killedAtMs, text: 'streams', colour: colours.quiet },
      { ...gone, text: 'asks B to continue', colour: colours.failed },
      { fromMs: resumedAtMs, untilMs: endedAtMs, text: 'streams', colour: colours.quiet },
      { fromMs: endedAtMs, text: 'one answer, one bill', colour: colours.text },
    ]),
    box({ x: 604, wide: 226, name: 'Engine B', moments }, [
      { fromMs: 0, untilMs: killedAtMs, text: 'idle', colour: colours.quiet },
      { ...gone, text: 'reads the delivered part', colour: colours.quiet },
      { fromMs: resumedAtMs, text: 'continues at the next word', colour: colours.b },
    ]),
  ].join('\n');
}

/** What the ledger and the log of attempts say afterwards, without the addresses. */
function drawEnd({ attempts, bill, endedAtMs }: FailoverRecording, moments: Moments): string {
  const { top, left, height: tall } = terminal;
  const facts = [...attempts, bill].map((line) =>
    line.replaceAll(/ at \d+\.\d+\.\d+\.\d+:\d+| \([^)]*\)|\S+\/\S+@|\.$/g, ''),
  );
  const lines = ['$ weir explain REQUEST_ID', ...facts].map((line, index) =>
    write(line, { x: left + 20, y: top + tall - 62 + index * 16, fill: colours.quiet, size: 11.5 }),
  );
  return `<g ${moments.shown({ fromMs: endedAtMs })}><g class="mono">${lines.join('')}</g></g>`;
}

function drawTimeline(recording: FailoverRecording, totalMs: number): string {
  const { pieces, killedAtMs, fromA, endedAtMs } = recording;
  const { top, left, width: wide } = timeline;
  const at = (ms: number): number => Math.round((left + (ms / endedAtMs) * wide) * 10) / 10;
  const part = (fromMs: number, untilMs: number, colour: string): string =>
    `<rect x="${at(fromMs)}" y="${top}" width="${(at(untilMs) - at(fromMs)).toFixed(1)}" height="8" rx="2" fill="${colour}"/>`;
  const firstAtMs = pieces[0]?.atMs ?? 0;
  const resumedAtMs = pieces[fromA]?.atMs ?? endedAtMs;
  const ticks = Array.from({ length: Math.floor(endedAtMs / 1000) + 1 }, (_, second) =>
    write(`${second} s`, { x: at(second * 1000), y: top + 27, fill: colours.quiet, size: 11.5, anchor: 'middle' }),
  );
  const name = (text: string, ms: number, fill: string): string =>
    write(text, { x: at(ms), y: top - 9, fill, size: 12 });
  const run = ((endedAtMs / totalMs) * 100).toFixed(2);
  return [
    part(0, endedAtMs, colours.border),
    part(firstAtMs, killedAtMs, colours.a),
    part(killedAtMs, resumedAtMs, colours.failed),
    part(resumedAtMs, endedAtMs, colours.b),
    name('text from A', firstAtMs, colours.a),
    name(`pause of ${seconds(resumedAtMs - killedAtMs)}`, killedAtMs, colours.failed),
    name('text from B', resumedAtMs + (endedAtMs - resumedAtMs) * 0.45, colours.b),
    ...ticks,
    `<style>@keyframes play{0%{transform:translateX(0)}${run}%,100%{transform:translateX(${wide}px)}}</style>`,
    `<rect class="playhead" x="${left - 1}" y="${top - 5}" width="2.5" height="18" rx="1" fill="${colours.text}"/>`,
  ].join('\n');
}

/** Draws the recording as a moving SVG without scripts, at the speed at which it happened. */
export function failoverPicture(recording = readRecording()): string {
  const totalMs = recording.endedAtMs + holdMs;
  const moments = createMoments(totalMs);
  const { left, top, width: wide, height: tall } = terminal;
  const drawn = [
    write("An engine dies in the middle of an answer. The caller's stream continues.", {
      x: 30,
      y: 38,
      size: 17,
      weight: 600,
    }),
    drawParts(recording, moments),
    `<rect x="${left}" y="${top}" width="${wide}" height="${tall}" rx="10" fill="#0a0e14" stroke="${colours.border}"/>`,
    write('The caller: one request, one stream, retries off', {
      x: left + 20,
      y: top + 24,
      fill: colours.quiet,
      size: 12,
    }),
    write('The colours show which engine sent the text. The caller sees one stream.', {
      ...{ x: left + wide - 20, y: top + 24, fill: colours.quiet, size: 12, anchor: 'end' },
    }),
    drawAnswer(recording, moments),
    drawEnd(recording, moments),
    drawTimeline(recording, totalMs),
  ];
  const duration = `${totalMs}ms`;
  return `<!-- Generated by \`npm run generate\` from docs/pictures/failover.recording.json. \`npm run pictures\` records that. -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A streamed answer during which its engine is killed</title>
<style>
text{font-family:Helvetica,Arial,sans-serif}
.mono text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.moment{animation:${duration} step-end infinite}
.flow{fill:none;stroke-width:5;stroke-linecap:round;stroke-dasharray:0.1 13;animation:flow .5s linear infinite}
@keyframes flow{to{stroke-dashoffset:-13.1}}
.playhead{transform:translateX(${timeline.width}px);animation:play ${duration} linear infinite}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}
${moments.css()}
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="14" fill="${colours.ground}" stroke="${colours.border}"/>
${drawn.join('\n')}
</svg>
`;
}
