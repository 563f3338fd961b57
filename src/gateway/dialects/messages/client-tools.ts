import type { JsonObject } from '../../../core/json.ts';

/**
 * A tool that the client runs and a request names by its type alone. Models of the format's own vendor have learned the published
 * definition; open models get it as a function tool.
 */
export interface ClientTool {
  /** The name under which the client expects its calls. */
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** The same tool for a client that can enlarge a part of the screen. */
  readonly zooming?: ClientTool;
}

const string = (description: string): JsonObject => ({ type: 'string', description });
const integer = (description: string): JsonObject => ({ type: 'integer', description });
const integers = (count: number, description: string): JsonObject => ({
  type: 'array',
  items: { type: 'integer' },
  minItems: count,
  maxItems: count,
  description,
});
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
});

const bash: ClientTool = {
  name: 'bash',
  description:
    'Runs a command in a persistent bash session on the user’s machine and returns its output. Set restart to begin a new session.',
  schema: object(
    { command: string('The command to run. Required unless the session is restarted.'), restart: { type: 'boolean' } },
    [],
  ),
};

const viewRange = integers(
  2,
  'For view: first and last line, counted from 1; -1 stands for the last line of the file.',
);

/** The fields of a file editor. Its commands differ by version. */
const editing = (commands: readonly string[], insertField: 'new_str' | 'insert_text'): JsonObject => ({
  command: { type: 'string', enum: commands },
  path: string('Absolute path of a file or folder.'),
  file_text: string('For create: the content of the new file.'),
  old_str: string('For str_replace: the text to replace. It must occur exactly once.'),
  new_str: string(
    insertField === 'new_str'
      ? 'For str_replace: the text that replaces old_str. For insert: the text to insert.'
      : 'For str_replace: the text that replaces old_str.',
  ),
  insert_line: integer('For insert: the line after which the text goes; 0 is the beginning.'),
  ...(insertField === 'insert_text' ? { insert_text: string('For insert: the text to insert.') } : {}),
  view_range: viewRange,
});

const basicEdits = ['view', 'create', 'str_replace', 'insert'] as const;
const editorText = 'Views, creates and edits files on the user’s machine.';

const earlyEditor: ClientTool = {
  name: 'str_replace_editor',
  description: editorText,
  schema: object(editing([...basicEdits, 'undo_edit'], 'new_str'), ['command', 'path']),
};
const editor: ClientTool = {
  name: 'str_replace_based_edit_tool',
  description: editorText,
  schema: object(editing(basicEdits, 'insert_text'), ['command', 'path']),
};

const memory: ClientTool = {
  name: 'memory',
  description:
    'Reads and writes the files of a memory folder, /memories, that lasts beyond this conversation. Look at it before you begin, and keep in it what will be needed later.',
  schema: object(
    {
      ...editing([...basicEdits, 'delete', 'rename'], 'insert_text'),
      path: string('Path of a file or folder below /memories.'),
      old_path: string('For rename: the path as it is.'),
      new_path: string('For rename: the path to be.'),
    },
    ['command'],
  ),
};

const earlyActions = [
  ...['key', 'type', 'mouse_move', 'left_click', 'left_click_drag', 'right_click', 'middle_click', 'double_click'],
  ...['screenshot', 'cursor_position'],
] as const;
const moreActions = ['left_mouse_down', 'left_mouse_up', 'scroll', 'hold_key', 'wait', 'triple_click'] as const;

function computer(actions: readonly string[]): ClientTool {
  return {
    name: 'computer',
    description:
      'Uses the screen, mouse and keyboard of a computer. Take a screenshot to see what is on the screen. Coordinates are pixels from the upper left corner.',
    schema: object(
      {
        action: { type: 'string', enum: actions },
        coordinate: integers(2, '[x, y], for actions of the mouse.'),
        start_coordinate: integers(2, '[x, y] where a drag begins.'),
        text: string('Text to type, or the key or keys to press, such as ctrl+s.'),
        ...(actions.includes('scroll')
          ? {
              scroll_direction: { type: 'string', enum: ['up', 'down', 'left', 'right'] },
              scroll_amount: integer('How many clicks of the wheel.'),
              duration: { type: 'number', description: 'Seconds, for wait and hold_key.' },
            }
          : {}),
        ...(actions.includes('zoom') ? { region: integers(4, '[x1, y1, x2, y2] to look at closely, for zoom.') } : {}),
      },
      ['action'],
    ),
  };
}

const laterComputer = computer([...earlyActions, ...moreActions]);

/** The versions of each tool, oldest first. A version later than these is read as the last one. */
const families: Readonly<Record<string, readonly (readonly [since: string, tool: ClientTool])[]>> = {
  bash: [['00000000', bash]],
  text_editor: [
    ['00000000', earlyEditor],
    ['20250429', editor],
  ],
  memory: [['00000000', memory]],
  computer: [
    ['00000000', computer(earlyActions)],
    ['20250124', laterComputer],
    ['20251124', { ...laterComputer, zooming: computer([...earlyActions, ...moreActions, 'zoom']) }],
  ],
};

/** The tool of a type such as `bash_20250124`. Undefined for a type that is not one of a client's tools. */
export function clientToolOf(type: string): ClientTool | undefined {
  const [, family = '', version = ''] = /^([a-z_]+)_(\d{8})$/.exec(type) ?? [];
  const versions = Object.hasOwn(families, family) ? families[family] : undefined;
  return versions?.findLast(([since]) => since <= version)?.[1];
}
