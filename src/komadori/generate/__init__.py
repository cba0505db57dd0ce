"""Games made to learn from, and the loop that learns from them."""

from komadori.generate.teacher import TeacherSettings, play_teacher_game, teacher_games

__all__ = ["TeacherSettings", "play_teacher_game", "teacher_games"]
